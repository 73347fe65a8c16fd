"""A role's policies, inline and attached, and its tags."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.account.helpers.in_memory_iam import permissions, trust

FULL_ACCESS = "arn:aws:iam::aws:policy/AmazonSageMakerFullAccess"


def test_inline_policies_are_put_shown_listed_and_deleted(iam: Any) -> None:
    iam.put_role_policy(RoleName="reader", PolicyName="b", PolicyDocument=permissions())
    iam.put_role_policy(RoleName="reader", PolicyName="a", PolicyDocument=permissions(Effect="Deny"))
    shown = iam.get_role_policy(RoleName="reader", PolicyName="a")
    assert (shown["RoleName"], shown["PolicyName"]) == ("reader", "a")
    assert shown["PolicyDocument"] == json.loads(permissions(Effect="Deny"))
    assert iam.list_role_policies(RoleName="reader")["PolicyNames"] == ["a", "b"]
    iam.delete_role_policy(RoleName="reader", PolicyName="a")
    assert iam.list_role_policies(RoleName="reader")["PolicyNames"] == ["b"]


@pytest.mark.parametrize("operation", ["get_role_policy", "delete_role_policy"])
def test_a_missing_inline_policy_is_no_such_entity(iam: Any, operation: str) -> None:
    with pytest.raises(ClientError, match="The role policy with name p cannot be found") as caught:
        getattr(iam, operation)(RoleName="reader", PolicyName="p")
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 404


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ("[" * 100_000, "Syntax errors in policy."),
        (permissions(Principal="*"), "Policy document should not specify a principal."),
        ('{"Statement": [{"Effect": "Allow", "Resource": "*"}]}', "Policy statement must contain actions."),
        ('{"Statement": [{"Effect": "Allow", "Action": "*"}]}', "Policy statement must contain resources."),
    ],
)
def test_an_inline_policy_that_is_none_is_malformed(iam: Any, document: str, why: str) -> None:
    with pytest.raises(ClientError, match=why):
        iam.put_role_policy(RoleName="reader", PolicyName="p", PolicyDocument=document)


def test_inline_policies_are_bounded_together_and_a_refused_one_changes_nothing(iam: Any) -> None:
    iam.put_role_policy(RoleName="reader", PolicyName="a", PolicyDocument=permissions(Sid="x" * 6000))
    with pytest.raises(ClientError, match="LimitExceeded"):
        iam.put_role_policy(RoleName="reader", PolicyName="b", PolicyDocument=permissions(Sid="x" * 6000))
    assert iam.list_role_policies(RoleName="reader")["PolicyNames"] == ["a"]


def test_a_policy_is_attached_once_however_often_it_is_asked_for(iam: Any) -> None:
    for _ in range(2):
        iam.attach_role_policy(RoleName="reader", PolicyArn=FULL_ACCESS)
    attached = iam.list_attached_role_policies(RoleName="reader")
    assert attached["AttachedPolicies"] == [{"PolicyName": "AmazonSageMakerFullAccess", "PolicyArn": FULL_ACCESS}]
    assert attached["IsTruncated"] is False
    iam.detach_role_policy(RoleName="reader", PolicyArn=FULL_ACCESS)
    assert iam.list_attached_role_policies(RoleName="reader")["AttachedPolicies"] == []
    with pytest.raises(ClientError, match=f"Policy {FULL_ACCESS} was not found"):
        iam.detach_role_policy(RoleName="reader", PolicyArn=FULL_ACCESS)


def test_attached_policies_are_filtered_by_path_and_bounded_in_number(iam: Any) -> None:
    arns = [f"arn:aws:iam::210987654321:policy/team/p{number}" for number in range(9)]
    for arn in [FULL_ACCESS, *arns]:
        iam.attach_role_policy(RoleName="reader", PolicyArn=arn)
    found = iam.list_attached_role_policies(RoleName="reader", PathPrefix="/team/")["AttachedPolicies"]
    assert [policy["PolicyArn"] for policy in found] == arns
    with pytest.raises(ClientError, match="Cannot exceed quota for PoliciesPerRole: 10"):
        iam.attach_role_policy(RoleName="reader", PolicyArn=f"{FULL_ACCESS}2")


def test_an_arn_that_names_no_policy_is_not_attached(iam: Any) -> None:
    with pytest.raises(ClientError, match="ARN arn:aws:iam::aws:role/reader is not valid"):
        iam.attach_role_policy(RoleName="reader", PolicyArn="arn:aws:iam::aws:role/reader")


def test_tags_are_added_replaced_paged_and_taken_away(iam: Any) -> None:
    iam.tag_role(RoleName="reader", Tags=[{"Key": "a", "Value": "1"}, {"Key": "b", "Value": ""}])
    iam.tag_role(RoleName="reader", Tags=[{"Key": "a", "Value": "2"}])
    first = iam.list_role_tags(RoleName="reader", MaxItems=1)
    assert (first["Tags"], first["IsTruncated"]) == ([{"Key": "a", "Value": "2"}], True)
    second = iam.list_role_tags(RoleName="reader", Marker=first["Marker"])
    assert (second["Tags"], second["IsTruncated"]) == ([{"Key": "b", "Value": ""}], False)
    iam.untag_role(RoleName="reader", TagKeys=["a"])
    assert iam.get_role(RoleName="reader")["Role"]["Tags"] == [{"Key": "b", "Value": ""}]
    many = [{"Key": f"{number}", "Value": ""} for number in range(50)]
    with pytest.raises(ClientError, match="LimitExceeded"):
        iam.tag_role(RoleName="reader", Tags=many)


def test_two_keys_that_differ_in_case_are_the_same_tag(iam: Any) -> None:
    iam.tag_role(RoleName="reader", Tags=[{"Key": "Team", "Value": "1"}])
    iam.tag_role(RoleName="reader", Tags=[{"Key": "team", "Value": "2"}])
    assert iam.list_role_tags(RoleName="reader")["Tags"] == [{"Key": "team", "Value": "2"}]
    with pytest.raises(ClientError, match=r"InvalidInput.*Duplicate tag keys found"):
        iam.tag_role(RoleName="reader", Tags=[{"Key": "a", "Value": "1"}, {"Key": "A", "Value": "2"}])
    with pytest.raises(ClientError, match=r"InvalidInput.*keys that begin with aws: are reserved"):
        iam.tag_role(RoleName="reader", Tags=[{"Key": "AWS:a", "Value": "1"}])
    iam.untag_role(RoleName="reader", TagKeys=["TEAM"])
    assert iam.list_role_tags(RoleName="reader")["Tags"] == []


def test_a_boundary_is_a_policys_arn(iam: Any) -> None:
    with pytest.raises(ClientError, match=r"InvalidInput.*ARN arn:aws:iam::junk-junk-junk is not valid"):
        iam.put_role_permissions_boundary(RoleName="reader", PermissionsBoundary="arn:aws:iam::junk-junk-junk")
    with pytest.raises(ClientError, match=r"InvalidInput.*is not valid"):
        iam.create_role(RoleName="b", AssumeRolePolicyDocument=trust(), PermissionsBoundary="arn:aws:iam::aws:role/b")
