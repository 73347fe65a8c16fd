"""The records of the model registry: groups, and packages, which are versions of a group or stand alone."""

from dataclasses import dataclass
from typing import Any

APPROVED = "Approved"
PENDING = "PendingManualApproval"


@dataclass(frozen=True)
class PackageGroup:
    """`versions` is how many there have been: numbers are not given twice."""

    name: str
    arn: str
    created_s: float
    description: str = ""
    versions: int = 0
    policy: str = ""  # the resource policy as it was put


@dataclass(frozen=True)
class ModelPackage:
    """`name` is `group/version` for a version of a group. `request` has CreateModelPackage's members that a
    description repeats, as updates have left them."""

    name: str
    arn: str
    created_s: float
    modified_s: float
    request: dict[str, Any]
    group_name: str = ""  # empty for one that stands alone
    version: int = 0
    approval: str = ""  # ModelApprovalStatus; only versions have one
    token: str = ""  # the ClientToken: a second call with it makes no other package
    etag: str = ""  # of its artifact when it was registered; empty where that was not known

    @property
    def deployable(self) -> bool:
        """BC: a versioned model package "must be approved" to be deployed."""
        return not self.group_name or self.approval == APPROVED

    @property
    def status(self) -> str:
        """ModelPackageStatus: a package is a record, and is complete at once."""
        return "Completed"
