"""Operations that moto answers, which does not know the endpoint's roles."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.account.helpers.in_memory_iam import database, iam_over, permissions, trust
from torpor_account.aws.wire.asgi import AwsRequest, Response

POLICY = "arn:aws:iam::210987654321:policy/team/p"
XML = '<{0}Response xmlns="https://iam.amazonaws.com/doc/2010-05-08/"><{0}Result/></{0}Response>'


@dataclass
class Others:
    """Answer everything, and note it."""

    asked: list[str] = field(default_factory=list)

    async def __call__(self, service: str, operation: str, request: AwsRequest) -> Response:
        self.asked.append(operation)
        return Response(200, XML.format(operation).encode(), {"content-type": "text/xml"})


@pytest.fixture
def others() -> Others:
    return Others()


@pytest.fixture
def iam(others: Others) -> Iterator[Any]:
    with database() as found:
        made = iam_over(found, others)
        made.create_role(RoleName="reader", AssumeRolePolicyDocument=trust())
        yield made


def test_an_own_role_cannot_join_an_instance_profile(iam: Any, others: Others) -> None:
    with pytest.raises(ClientError, match=r"InvalidInput.*Torpor keeps no instance profiles: reader"):
        iam.add_role_to_instance_profile(InstanceProfileName="p", RoleName="reader")
    assert others.asked == []
    iam.add_role_to_instance_profile(InstanceProfileName="p", RoleName="theirs")
    assert others.asked == ["AddRoleToInstanceProfile"]


def test_an_own_policy_that_a_role_has_is_not_deleted_and_others_are_left_to_moto(iam: Any, others: Others) -> None:
    iam.create_policy(PolicyName="p", Path="/team/", PolicyDocument=permissions())
    iam.attach_role_policy(RoleName="reader", PolicyArn=POLICY)
    with pytest.raises(ClientError, match=r"DeleteConflict.*Cannot delete a policy attached to entities"):
        iam.delete_policy(PolicyArn=POLICY)
    iam.detach_role_policy(RoleName="reader", PolicyArn=POLICY)
    iam.delete_policy(PolicyArn=POLICY)
    with pytest.raises(ClientError, match="NoSuchEntity"):
        iam.get_policy(PolicyArn=POLICY)
    assert others.asked == []
    iam.get_policy(PolicyArn="arn:aws:iam::aws:policy/AmazonSageMakerFullAccess")
    assert others.asked == ["GetPolicy"]


def test_a_policy_lists_its_roles_by_kind_of_use(iam: Any) -> None:
    iam.create_role(RoleName="bound", Path="/team/", AssumeRolePolicyDocument=trust(), PermissionsBoundary=POLICY)
    iam.attach_role_policy(RoleName="reader", PolicyArn=POLICY)

    def roles(**filters: str) -> list[str]:
        answer = iam.list_entities_for_policy(PolicyArn=POLICY, **filters)
        return [role["RoleName"] for role in answer["PolicyRoles"]]

    assert roles() == ["bound", "reader"]
    assert roles(PolicyUsageFilter="PermissionsBoundary") == ["bound"]
    assert roles(PolicyUsageFilter="PermissionsPolicy") == ["reader"]
    assert roles(PathPrefix="/team/") == ["bound"]
    assert roles(EntityFilter="User") == []
