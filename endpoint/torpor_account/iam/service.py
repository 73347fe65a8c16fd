"""IAM as a service: its operations in one table. `unenforced` says what becomes of those that are not in it."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from torpor_account.aws.calls import Answer, Call, Guard, Operation, Otherwise
from torpor_account.aws.service import READS, Service
from torpor_account.core.access.rights.right_rows import DEFAULT_ROLE
from torpor_account.iam import identity_tags, roles, service_linked
from torpor_account.iam.context import GROUPS, ROLES, USERS, H, HolderKind, Iam
from torpor_account.iam.identities import access_keys, account_details, groups, users
from torpor_account.iam.identities.directory import Directory
from torpor_account.iam.identities.ids import ROLE_ID
from torpor_account.iam.identity_records import Role
from torpor_account.iam.identity_tags import TAGGED_POLICIES, TAGGED_ROLES, TAGGED_USERS, TaggedKind
from torpor_account.iam.policies import attached, inline, managed, simulation
from torpor_account.iam.unenforced import refusing_unenforced

KEPT = (
    *("AttachedPolicies", "EvaluationResults", "MatchedStatements", "MissingContextValues"),
    *("PolicyGroups", "PolicyRoles", "PolicyUsers", "ContextKeyNames"),
    *("UserDetailList", "GroupDetailList", "RoleDetailList", "GroupList", "AttachedManagedPolicies", "Policies"),
    *("GroupPolicyList", "RolePolicyList", "InstanceProfileList"),
)
"""Lists that clients index without looking; the others are required members."""


def _of_holders(kind: HolderKind[H]) -> dict[str, Operation[Iam]]:
    """The operations on the policies of roles, of users or of groups."""
    return {
        f"Put{kind.name}Policy": partial(inline.put_policy, kind),
        f"Get{kind.name}Policy": partial(inline.get_policy, kind),
        f"Delete{kind.name}Policy": partial(inline.delete_policy, kind),
        f"List{kind.name}Policies": partial(inline.list_policies, kind),
        f"Attach{kind.name}Policy": partial(attached.attach_policy, kind),
        f"Detach{kind.name}Policy": partial(attached.detach_policy, kind),
        f"ListAttached{kind.name}Policies": partial(attached.list_attached_policies, kind),
    }


def _of_tagged(kind: TaggedKind) -> dict[str, Operation[Iam]]:
    return {
        f"Tag{kind.name}": partial(identity_tags.tag, kind),
        f"Untag{kind.name}": partial(identity_tags.untag, kind),
        f"List{kind.name}Tags": partial(identity_tags.list_tags, kind),
    }


OPERATIONS: dict[str, Operation[Iam]] = {
    **_of_holders(ROLES),
    **_of_holders(USERS),
    **_of_holders(GROUPS),
    **_of_tagged(TAGGED_ROLES),
    **_of_tagged(TAGGED_USERS),
    **_of_tagged(TAGGED_POLICIES),
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
    "ListEntitiesForPolicy": attached.list_entities_for_policy,
    "CreateUser": users.create_user,
    "GetUser": users.get_user,
    "ListUsers": users.list_users,
    "DeleteUser": users.delete_user,
    "PutUserPermissionsBoundary": users.put_user_permissions_boundary,
    "DeleteUserPermissionsBoundary": users.delete_user_permissions_boundary,
    "UpdateUser": users.update_user,
    "CreateGroup": groups.create_group,
    "GetGroup": groups.get_group,
    "ListGroups": groups.list_groups,
    "UpdateGroup": groups.update_group,
    "DeleteGroup": groups.delete_group,
    "AddUserToGroup": groups.add_user_to_group,
    "RemoveUserFromGroup": groups.remove_user_from_group,
    "ListGroupsForUser": groups.list_groups_for_user,
    "CreateAccessKey": access_keys.create_access_key,
    "ListAccessKeys": access_keys.list_access_keys,
    "UpdateAccessKey": access_keys.update_access_key,
    "DeleteAccessKey": access_keys.delete_access_key,
    "CreatePolicy": managed.create_policy,
    "GetPolicy": managed.get_policy,
    "ListPolicies": managed.list_policies,
    "DeletePolicy": managed.delete_policy,
    "CreatePolicyVersion": managed.create_policy_version,
    "GetPolicyVersion": managed.get_policy_version,
    "ListPolicyVersions": managed.list_policy_versions,
    "SetDefaultPolicyVersion": managed.set_default_policy_version,
    "DeletePolicyVersion": managed.delete_policy_version,
    "SimulatePrincipalPolicy": simulation.allow_all,
    "SimulateCustomPolicy": simulation.simulate_custom_policy,
    "GetContextKeysForCustomPolicy": simulation.context_keys_of_input,
    "GetAccountAuthorizationDetails": account_details.get_account_authorization_details,
    "CreateServiceLinkedRole": service_linked.create_service_linked_role,
    "DeleteServiceLinkedRole": service_linked.delete_service_linked_role,
    "GetServiceLinkedRoleDeletionStatus": service_linked.get_service_linked_role_deletion_status,
}

GUARDS: dict[str, Guard[Iam]] = {
    "AddRoleToInstanceProfile": roles.check_in_no_profile,
}
"""What is left to others, who do not know our roles."""


def service(
    iam: Iam, *, account: str, otherwise: Otherwise | None = None, directory: Directory | None = None
) -> Service[Iam]:
    """The role that every caller is said to have exists from the start, as the SageMaker SDK expects.

    `directory` finds callers where they are verified. It forgets them with each change of what somebody may do.
    """
    trust = service_linked.trust("sagemaker.amazonaws.com")
    iam.roles.add(Role(DEFAULT_ROLE, ROLE_ID, iam.clock(), trust, protected=True))
    operations: Mapping[str, Operation[Iam]] = OPERATIONS
    if directory is not None:
        simulate = simulation.simulating(directory)
        operations = _forgetting({**OPERATIONS, "SimulatePrincipalPolicy": simulate}, directory.forget)
        otherwise = None if otherwise is None else refusing_unenforced(otherwise)
    return Service("iam", iam, operations, account=account, kept=KEPT, otherwise=otherwise, guards=GUARDS)


def _forgetting(operations: Mapping[str, Operation[Iam]], forget: Callable[[], None]) -> dict[str, Operation[Iam]]:
    """The operations; after those that write, `forget` is called."""

    def forgetting(operation: Operation[Iam]) -> Operation[Iam]:
        def changed(iam: Iam, call: Call) -> Answer | Awaitable[Answer]:
            try:
                return operation(iam, call)
            finally:
                forget()

        return changed

    return {
        name: operation if name.startswith((*READS, "Simulate")) else forgetting(operation)
        for name, operation in operations.items()
    }
