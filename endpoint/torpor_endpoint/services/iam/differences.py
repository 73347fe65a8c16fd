"""What differs from AWS, operation by operation, as far as it is known; an operation without a line has none."""

from collections.abc import Mapping
from typing import Final

_NOT_ENFORCED: Final = "Kept, not enforced."
_FORM: Final = "The document's form is checked; its principals, actions and conditions are not."

DIFFERENCES: Final[Mapping[str, str]] = {
    "CreateRole": _FORM,
    "UpdateAssumeRolePolicy": _FORM,
    "GetRole": "No RoleLastUsed.",
    "DeleteRole": "TorporRole, which every caller is, stays.",
    "PutRolePermissionsBoundary": _NOT_ENFORCED,
    "PutRolePolicy": _NOT_ENFORCED,
    "AttachRolePolicy": f"{_NOT_ENFORCED} Whether there is such a policy is not checked.",
    "ListInstanceProfilesForRole": "Always empty.",
    "ListEntitiesForPolicy": "Roles only. Whether there is such a policy is not checked.",
    "SimulatePrincipalPolicy": "Every action is allowed: nothing is enforced here.",
    "CreateServiceLinkedRole": "For SageMaker's scaling only.",
    "DeleteServiceLinkedRole": "Done at once.",
    "GetServiceLinkedRoleDeletionStatus": "Always SUCCEEDED.",
}
