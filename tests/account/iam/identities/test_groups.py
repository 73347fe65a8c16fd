"""Groups and who is in them are kept, and their policies are those of their users."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.account.helpers.in_memory_iam import ACCOUNT, database, iam_over, permissions

POLICY = f"arn:aws:iam::{ACCOUNT}:policy/readers"


@pytest.fixture
def iam() -> Iterator[Any]:
    """A new IAM for each test, with a user and a group."""
    with database() as found:
        made = iam_over(found)
        made.create_user(UserName="ann")
        made.create_group(GroupName="Readers", Path="/team/")
        yield made


def groups_of(iam: Any, user: str) -> list[str]:
    return [group["GroupName"] for group in iam.list_groups_for_user(UserName=user)["Groups"]]


def test_a_group_and_its_users_survive_a_restart(tmp_path: Path) -> None:
    with database(tmp_path / "d.sqlite") as found:
        iam = iam_over(found)
        group = iam.create_group(GroupName="Readers", Path="/team/")["Group"]
        assert group["Arn"] == f"arn:aws:iam::{ACCOUNT}:group/team/Readers"
        assert group["GroupId"].startswith("AGPA")
        iam.create_user(UserName="ann")
        iam.add_user_to_group(GroupName="Readers", UserName="ann")
    with database(tmp_path / "d.sqlite") as found:
        iam = iam_over(found)
        shown = iam.get_group(GroupName="Readers")
        assert (shown["Group"], [user["UserName"] for user in shown["Users"]]) == (group, ["ann"])
        assert groups_of(iam, "ann") == ["Readers"]


def test_the_users_of_a_group_come_in_pages(iam: Any) -> None:
    for name in ("bob", "cid"):
        iam.create_user(UserName=name)
    for name in ("ann", "bob", "cid"):
        iam.add_user_to_group(GroupName="Readers", UserName=name)
    first = iam.get_group(GroupName="Readers", MaxItems=2)
    assert ([one["UserName"] for one in first["Users"]], first["IsTruncated"]) == (["ann", "bob"], True)
    second = iam.get_group(GroupName="Readers", Marker=first["Marker"])
    assert ([one["UserName"] for one in second["Users"]], second["IsTruncated"]) == (["cid"], False)


def test_neither_a_group_with_users_nor_a_user_in_a_group_is_deleted(iam: Any) -> None:
    iam.add_user_to_group(GroupName="Readers", UserName="ann")
    calls: list[Callable[[], Any]] = [
        lambda: iam.delete_group(GroupName="Readers"),
        lambda: iam.delete_user(UserName="ann"),
    ]
    for call in calls:
        with pytest.raises(ClientError, match=r"DeleteConflict.*must remove users from group first"):
            call()
    for _ in range(2):  # to take out one who is not in it is no error
        iam.remove_user_from_group(GroupName="Readers", UserName="ann")
    iam.delete_user(UserName="ann")
    iam.delete_group(GroupName="Readers")
    assert iam.list_groups()["Groups"] == []


def test_a_group_with_policies_is_not_deleted(iam: Any) -> None:
    iam.put_group_policy(GroupName="Readers", PolicyName="p", PolicyDocument=permissions())
    iam.attach_group_policy(GroupName="Readers", PolicyArn=POLICY)
    undoing: list[Callable[[], Any]] = [
        lambda: iam.detach_group_policy(GroupName="Readers", PolicyArn=POLICY),
        lambda: iam.delete_group_policy(GroupName="Readers", PolicyName="p"),
    ]
    for undo in undoing:
        with pytest.raises(ClientError, match="DeleteConflict"):
            iam.delete_group(GroupName="Readers")
        undo()
    iam.delete_group(GroupName="Readers")


def test_a_renamed_group_keeps_its_users_and_policies(iam: Any) -> None:
    iam.add_user_to_group(GroupName="Readers", UserName="ann")
    iam.put_group_policy(GroupName="Readers", PolicyName="p", PolicyDocument=permissions())
    iam.create_group(GroupName="taken")
    with pytest.raises(ClientError, match=r"EntityAlreadyExists.*Group with name taken"):
        iam.update_group(GroupName="Readers", NewGroupName="taken")
    iam.update_group(GroupName="Readers", NewGroupName="readers", NewPath="/")
    assert groups_of(iam, "ann") == ["readers"]
    assert iam.list_group_policies(GroupName="readers")["PolicyNames"] == ["p"]
    with pytest.raises(ClientError, match=r"NoSuchEntity.*group with name Readers"):
        iam.get_group(GroupName="Readers")


def test_a_renamed_user_keeps_its_key_its_groups_and_its_tags(iam: Any) -> None:
    iam.tag_user(UserName="ann", Tags=[{"Key": "Tenant", "Value": "a"}])
    key = iam.create_access_key(UserName="ann")["AccessKey"]["AccessKeyId"]
    iam.add_user_to_group(GroupName="Readers", UserName="ann")
    iam.update_user(UserName="ann", NewUserName="anna", NewPath="/team/")
    assert [one["AccessKeyId"] for one in iam.list_access_keys(UserName="anna")["AccessKeyMetadata"]] == [key]
    assert iam.list_user_tags(UserName="anna")["Tags"] == [{"Key": "Tenant", "Value": "a"}]
    assert groups_of(iam, "anna") == ["Readers"]


def test_a_user_is_in_ten_groups_at_most_and_in_none_that_does_not_exist(iam: Any) -> None:
    with pytest.raises(ClientError, match="NoSuchEntity"):
        iam.add_user_to_group(GroupName="none", UserName="ann")
    for number in range(10):
        iam.create_group(GroupName=f"g{number}")
        iam.add_user_to_group(GroupName=f"g{number}", UserName="ann")
    iam.add_user_to_group(GroupName="g0", UserName="ann")
    with pytest.raises(ClientError, match=r"LimitExceeded.*GroupsPerUser: 10"):
        iam.add_user_to_group(GroupName="Readers", UserName="ann")


def test_a_policy_counts_and_lists_the_groups_that_have_it(iam: Any) -> None:
    iam.create_policy(PolicyName="readers", PolicyDocument=permissions(), Tags=[{"Key": "k", "Value": "v"}])
    iam.attach_group_policy(GroupName="Readers", PolicyArn=POLICY)
    policy = iam.get_policy(PolicyArn=POLICY)["Policy"]
    assert (policy["AttachmentCount"], policy["Tags"]) == (1, [{"Key": "k", "Value": "v"}])
    assert iam.list_entities_for_policy(PolicyArn=POLICY)["PolicyGroups"][0]["GroupName"] == "Readers"
    with pytest.raises(ClientError, match="DeleteConflict"):
        iam.delete_policy(PolicyArn=POLICY)


def test_the_details_of_the_account_have_all_that_each_holds(iam: Any) -> None:
    iam.create_policy(PolicyName="readers", PolicyDocument=permissions())
    iam.attach_group_policy(GroupName="Readers", PolicyArn=POLICY)
    iam.add_user_to_group(GroupName="Readers", UserName="ann")
    iam.put_user_policy(UserName="ann", PolicyName="p", PolicyDocument=permissions())
    found = iam.get_account_authorization_details(Filter=["User", "Group", "LocalManagedPolicy"])
    (user,), (group,), (policy,) = found["UserDetailList"], found["GroupDetailList"], found["Policies"]
    assert (user["GroupList"], user["UserPolicyList"][0]["PolicyName"]) == (["Readers"], "p")
    assert group["AttachedManagedPolicies"] == [{"PolicyName": "readers", "PolicyArn": POLICY}]
    assert policy["PolicyVersionList"][0]["Document"]["Statement"][0]["Action"] == "s3:GetObject"
    assert found["RoleDetailList"] == []
    pages = iam.get_paginator("get_account_authorization_details").paginate(PaginationConfig={"PageSize": 1})
    assert sum(len(page[kind]) for page in pages for kind in page if kind.endswith("DetailList")) == 3
    with pytest.raises(ClientError, match=r"InvalidInput.*leave AWSManagedPolicy out"):
        iam.get_account_authorization_details(Filter=["AWSManagedPolicy"])
