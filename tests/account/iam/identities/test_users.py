"""Users, their keys and the policies that they share are kept, over a restart too."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.account.helpers.in_memory_iam import ACCOUNT, database, iam_over, permissions

POLICY = f"arn:aws:iam::{ACCOUNT}:policy/readers"


@pytest.fixture
def iam() -> Iterator[Any]:
    """A new IAM for each test."""
    with database() as found:
        yield iam_over(found)


def test_a_user_and_its_key_survive_a_restart(tmp_path: Path) -> None:
    with database(tmp_path / "d.sqlite") as found:
        iam = iam_over(found)
        user = iam.create_user(UserName="Ann", Path="/team/")["User"]
        assert user["Arn"] == f"arn:aws:iam::{ACCOUNT}:user/team/Ann"
        assert user["UserId"].startswith("AIDA")
        key = iam.create_access_key(UserName="Ann")["AccessKey"]
        assert (len(key["AccessKeyId"]), len(key["SecretAccessKey"])) == (20, 40)
    with database(tmp_path / "d.sqlite") as found:
        iam = iam_over(found)
        assert iam.get_user(UserName="Ann")["User"]["Arn"] == user["Arn"]
        (listed,) = iam.list_access_keys(UserName="Ann")["AccessKeyMetadata"]
        assert (listed["AccessKeyId"], listed["Status"]) == (key["AccessKeyId"], "Active")
        assert "SecretAccessKey" not in listed


def test_a_user_with_keys_or_policies_is_not_deleted(iam: Any) -> None:
    iam.create_user(UserName="ann")
    key = iam.create_access_key(UserName="ann")["AccessKey"]["AccessKeyId"]
    iam.put_user_policy(UserName="ann", PolicyName="p", PolicyDocument=permissions())
    undoing: list[Callable[[], Any]] = [
        lambda: iam.delete_access_key(UserName="ann", AccessKeyId=key),
        lambda: iam.delete_user_policy(UserName="ann", PolicyName="p"),
    ]
    for undo in undoing:
        with pytest.raises(ClientError, match="DeleteConflict"):
            iam.delete_user(UserName="ann")
        undo()
    iam.delete_user(UserName="ann")
    assert iam.list_users()["Users"] == []


def test_a_user_has_two_keys_at_most(iam: Any) -> None:
    iam.create_user(UserName="ann")
    for _ in range(2):
        key = iam.create_access_key(UserName="ann")["AccessKey"]["AccessKeyId"]
    with pytest.raises(ClientError, match=r"LimitExceeded.*AccessKeysPerUser: 2"):
        iam.create_access_key(UserName="ann")
    iam.update_access_key(UserName="ann", AccessKeyId=key, Status="Inactive")
    assert sorted(one["Status"] for one in iam.list_access_keys(UserName="ann")["AccessKeyMetadata"]) == [
        "Active",
        "Inactive",
    ]
    with pytest.raises(ClientError, match="NoSuchEntity"):
        iam.delete_access_key(UserName="ann", AccessKeyId="AKIA0000000000000000")


def test_a_managed_policy_has_versions_of_which_one_is_in_force(iam: Any) -> None:
    assert iam.create_policy(PolicyName="readers", PolicyDocument=permissions())["Policy"]["Arn"] == POLICY
    made = iam.create_policy_version(PolicyArn=POLICY, PolicyDocument=permissions(Action="s3:*"), SetAsDefault=True)
    assert made["PolicyVersion"]["VersionId"] == "v2"
    assert iam.get_policy(PolicyArn=POLICY)["Policy"]["DefaultVersionId"] == "v2"
    document = iam.get_policy_version(PolicyArn=POLICY, VersionId="v2")["PolicyVersion"]["Document"]
    assert document["Statement"][0]["Action"] == "s3:*"
    with pytest.raises(ClientError, match="DeleteConflict"):
        iam.delete_policy_version(PolicyArn=POLICY, VersionId="v2")
    iam.delete_policy_version(PolicyArn=POLICY, VersionId="v1")
    assert [one["VersionId"] for one in iam.list_policy_versions(PolicyArn=POLICY)["Versions"]] == ["v2"]
    newer = iam.create_policy_version(PolicyArn=POLICY, PolicyDocument=permissions())
    assert newer["PolicyVersion"]["VersionId"] == "v3"  # a number is not used twice


def test_a_policy_lists_the_users_that_have_it(iam: Any) -> None:
    iam.create_policy(PolicyName="readers", PolicyDocument=permissions())
    iam.create_user(UserName="ann")
    iam.attach_user_policy(UserName="ann", PolicyArn=POLICY)
    assert [one["UserName"] for one in iam.list_entities_for_policy(PolicyArn=POLICY)["PolicyUsers"]] == ["ann"]
    assert iam.get_policy(PolicyArn=POLICY)["Policy"]["AttachmentCount"] == 1
    assert iam.list_policies(OnlyAttached=True)["Policies"][0]["Arn"] == POLICY


def test_policies_are_listed_by_their_use_awss_own_too(iam: Any) -> None:
    administrator = "arn:aws:iam::aws:policy/AdministratorAccess"
    iam.create_policy(PolicyName="readers", PolicyDocument=permissions())
    iam.create_user(UserName="ann", PermissionsBoundary=POLICY)
    iam.attach_user_policy(UserName="ann", PolicyArn=administrator)

    def listed(**filters: Any) -> list[str]:
        return [one["Arn"] for one in iam.list_policies(**filters)["Policies"]]

    assert listed(OnlyAttached=True) == [administrator]
    assert listed(PolicyUsageFilter="PermissionsBoundary") == [POLICY]
    assert listed(PolicyUsageFilter="PermissionsPolicy", Scope="Local") == []


def test_awss_own_policies_are_listed_beside_those_of_the_account(iam: Any) -> None:
    iam.create_policy(PolicyName="readers", PolicyDocument=permissions())
    pages = list(iam.get_paginator("list_policies").paginate(PaginationConfig={"PageSize": 1000}))
    assert len(pages) > 1
    found = [one["Arn"] for page in pages for one in page["Policies"]]
    assert {POLICY, "arn:aws:iam::aws:policy/AdministratorAccess"} <= set(found)
    assert len(found) == len(set(found))


@pytest.mark.parametrize(
    "more", [{"Condition": {"StringMatches": {"k": "v"}}}, {"Condition": {"NumericEquals": {"k": "x"}}}, {"Sids": "s"}]
)
def test_a_document_that_could_not_be_enforced_is_refused(iam: Any, more: dict[str, Any]) -> None:
    iam.create_user(UserName="ann")
    with pytest.raises(ClientError, match="MalformedPolicyDocument"):
        iam.put_user_policy(UserName="ann", PolicyName="p", PolicyDocument=permissions(**more))
