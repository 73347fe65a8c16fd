"""IAM as a service: its operations in one table. What is not in it, such as users and groups, is left to others."""

from torpor_endpoint.aws.calls import Guard, Operation, Otherwise
from torpor_endpoint.aws.service import Service
from torpor_endpoint.services.iam import (
    attached_policies,
    inline_policies,
    roles,
    service_linked,
    simulation,
    tags,
)
from torpor_endpoint.services.iam.context import Iam
from torpor_endpoint.services.iam.records import Role
from torpor_endpoint.services.parts import ServiceParts
from torpor_endpoint.services.sts.identity import ROLE, ROLE_ID

KEPT = ("AttachedPolicies", "EvaluationResults", "PolicyRoles")
"""Lists that clients index without looking; the others are required members."""

OPERATIONS: dict[str, Operation[Iam]] = {
    "CreateRole": roles.create_role,
    "GetRole": roles.get_role,
    "ListRoles": roles.list_roles,
    "UpdateRole": roles.update_role,
    "UpdateRoleDescription": roles.update_role_description,
    "UpdateAssumeRolePolicy": roles.update_assume_role_policy,
    "PutRolePermissionsBoundary": roles.put_role_permissions_boundary,
    "DeleteRolePermissionsBoundary": roles.delete_role_permissions_boundary,
    "DeleteRole": roles.delete_role,
    "ListInstanceProfilesForRole": roles.list_instance_profiles_for_role,
    "TagRole": tags.tag_role,
    "UntagRole": tags.untag_role,
    "ListRoleTags": tags.list_role_tags,
    "PutRolePolicy": inline_policies.put_role_policy,
    "GetRolePolicy": inline_policies.get_role_policy,
    "DeleteRolePolicy": inline_policies.delete_role_policy,
    "ListRolePolicies": inline_policies.list_role_policies,
    "AttachRolePolicy": attached_policies.attach_role_policy,
    "DetachRolePolicy": attached_policies.detach_role_policy,
    "ListAttachedRolePolicies": attached_policies.list_attached_role_policies,
    "ListEntitiesForPolicy": attached_policies.list_entities_for_policy,
    "SimulatePrincipalPolicy": simulation.simulate_principal_policy,
    "CreateServiceLinkedRole": service_linked.create_service_linked_role,
    "DeleteServiceLinkedRole": service_linked.delete_service_linked_role,
    "GetServiceLinkedRoleDeletionStatus": service_linked.get_service_linked_role_deletion_status,
}

GUARDS: dict[str, Guard[Iam]] = {
    "AddRoleToInstanceProfile": roles.check_in_no_profile,
    "DeletePolicy": attached_policies.check_unused,
}
"""What is left to others, who do not know our roles."""


def service(iam: Iam, *, account: str, otherwise: Otherwise | None = None) -> Service[Iam]:
    """The role that every caller is said to have exists from the start, as the SageMaker SDK expects."""
    trust = service_linked.trust("sagemaker.amazonaws.com")
    iam.roles.add(Role(ROLE, ROLE_ID, iam.clock(), trust, protected=True))
    return Service("iam", iam, OPERATIONS, account=account, kept=KEPT, otherwise=otherwise, guards=GUARDS)


def compose(parts: ServiceParts) -> Service[Iam]:
    iam = Iam(parts.database, parts.store, parts.clock)
    return service(iam, account=parts.account, otherwise=parts.otherwise)
