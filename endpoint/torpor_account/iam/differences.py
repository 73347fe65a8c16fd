"""Lists the known differences from AWS by operation. An operation without an entry has no known difference."""

from collections.abc import Mapping
from typing import Final

_ENFORCED: Final = "Enforced with `--auth` only (docs/how-to/users-and-policies.md)."
_FORM: Final = (
    "Checks the form of the document, but not whether its actions exist. Refuses a condition key that no request has here "
    "where its absence would help a caller."
)
_TRUST: Final = f"{_FORM} Users and roles of other accounts are taken unseen."

_SIMULATED: Final = (
    "It refuses ResourceHandlingOption, PolicyExclusionList and OrderedOrganizationPolicyInputList by name, and a "
    "ResourceOwner of another account. A statement begins at its brace. An action need not exist."
)

DIFFERENCES: Final[Mapping[str, str]] = {
    "CreateRole": _TRUST,
    "UpdateAssumeRolePolicy": f"{_TRUST} GetRole shows the name of a user or role that is gone, where AWS shows its id.",
    "GetRole": "The answer has no RoleLastUsed.",
    "DeleteRole": "Refuses to delete TorporRole, the role of models that name none, and without `--auth` of every caller.",
    "PutRolePermissionsBoundary": f"{_ENFORCED} The policy need not exist; one that does not allows nothing.",
    "PutRolePolicy": f"{_ENFORCED} {_FORM}",
    "AttachRolePolicy": f"{_ENFORCED} The policy need not exist; one that does not allows nothing.",
    "CreateUser": "A user has no password.",
    "PutUserPermissionsBoundary": f"{_ENFORCED} The policy need not exist; one that does not allows nothing.",
    "PutUserPolicy": f"{_ENFORCED} {_FORM}",
    "AttachUserPolicy": f"{_ENFORCED} The policy need not exist; one that does not allows nothing.",
    "PutGroupPolicy": f"{_ENFORCED} {_FORM}",
    "AttachGroupPolicy": f"{_ENFORCED} The policy need not exist; one that does not allows nothing.",
    "CreateAccessKey": "Signatures are verified with `--auth` only.",
    "CreatePolicy": _FORM,
    "GetAccountAuthorizationDetails": "Does not list AWS's own policies.",
    "ListPolicies": "AWS's own policies have no ids.",
    "ListInstanceProfilesForRole": "The list is always empty.",
    "ListEntitiesForPolicy": "The policy need not exist.",
    "SimulatePrincipalPolicy": "Allows every action and names no statement, unless `--auth` enforces policies. "
    f"Then {_SIMULATED[:1].lower()}{_SIMULATED[1:]}",
    "SimulateCustomPolicy": _SIMULATED,
    "CreateServiceLinkedRole": "Takes the service of SageMaker's scaling only.",
    "DeleteServiceLinkedRole": "Deletes the role at once.",
    "GetServiceLinkedRoleDeletionStatus": "The status is always SUCCEEDED.",
}
