"""Lists the known differences from AWS by operation. An operation without an entry has no known difference."""

from collections.abc import Mapping
from typing import Final

_ENFORCED: Final = "Enforced with `--auth` only (docs/how-to/users-and-policies.md)."
_FORM: Final = "Checks the form of the document and its condition operators, but not its principals and actions."

_SIMULATED: Final = (
    "It refuses ResourceHandlingOption, PolicyExclusionList and OrderedOrganizationPolicyInputList by name, and a "
    "ResourceOwner of another account. A statement begins at its brace. An action need not exist."
)

DIFFERENCES: Final[Mapping[str, str]] = {
    "CreateRole": _FORM,
    "UpdateAssumeRolePolicy": _FORM,
    "GetRole": "The answer has no RoleLastUsed.",
    "DeleteRole": "Refuses to delete TorporRole, the role of models that name none, and without `--auth` of every caller.",
    "PutRolePermissionsBoundary": f"{_ENFORCED} The policy need not exist; one that does not allows nothing.",
    "PutRolePolicy": _ENFORCED,
    "AttachRolePolicy": f"{_ENFORCED} The policy need not exist; one that does not allows nothing.",
    "CreateUser": "A user has no password.",
    "PutUserPermissionsBoundary": f"{_ENFORCED} The policy need not exist; one that does not allows nothing.",
    "PutUserPolicy": _ENFORCED,
    "AttachUserPolicy": f"{_ENFORCED} The policy need not exist; one that does not allows nothing.",
    "PutGroupPolicy": _ENFORCED,
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
