"""Lists the known differences from AWS by operation. An operation without an entry has no known difference."""

from collections.abc import Mapping
from typing import Final

_NOT_ENFORCED: Final = "Kept and shown, but not enforced."
_FORM: Final = "Checks the form of the document, but not its principals, actions and conditions."

DIFFERENCES: Final[Mapping[str, str]] = {
    "CreateRole": _FORM,
    "UpdateAssumeRolePolicy": _FORM,
    "GetRole": "The answer has no RoleLastUsed.",
    "DeleteRole": "Refuses to delete TorporRole, the role of every caller.",
    "PutRolePermissionsBoundary": _NOT_ENFORCED,
    "PutRolePolicy": _NOT_ENFORCED,
    "AttachRolePolicy": f"{_NOT_ENFORCED} The policy need not exist.",
    "ListInstanceProfilesForRole": "The list is always empty.",
    "ListEntitiesForPolicy": "Lists roles only. The policy need not exist.",
    "SimulatePrincipalPolicy": "Allows every action, because Torpor enforces no policy.",
    "CreateServiceLinkedRole": "Takes the service of SageMaker's scaling only.",
    "DeleteServiceLinkedRole": "Deletes the role at once.",
    "GetServiceLinkedRoleDeletionStatus": "The status is always SUCCEEDED.",
}
