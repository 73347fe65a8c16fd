"""The errors between a target model and its folder on disk. Each has its fault and says what to do.

ArtifactError
├── TargetForbidden     the target is not a key under the prefix
├── ArtifactMissing     no such object
├── ArtifactForbidden   no permission to read it
├── ArtifactInvalid     it arrived whole, but is not an artifact
├── StoreUnreachable    the store did not answer
│   └── DownloadBroken  it answered, but with other bytes than it promised
└── DiskFull            no room on the instance's disk
    └── DiskTooSmall    and there never will be
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from torpor_container.core.near_names import question
from torpor_container.errors import ContainerError
from torpor_container.wire import Fault

_NO_SPACE = {errno.ENOSPC, errno.EDQUOT}


class ArtifactError(ContainerError):
    """A model's artifact could not be brought to disk."""

    type = "ArtifactException"
    fault: ClassVar[Fault]


class TargetForbidden(ArtifactError):
    status = 400
    fault = Fault.TARGET_FORBIDDEN


class ArtifactMissing(ArtifactError):
    status = 404
    fault = Fault.ARTIFACT_MISSING

    def __init__(self, bucket: str, key: str, near: tuple[str, ...] = ()) -> None:
        """`near` are names that may have been meant."""
        self.bucket, self.key = bucket, key
        super().__init__(
            f"Failed to download model data (bucket: {bucket}, key: {key}). "
            f"Please ensure that there is an object located at the URL.{question(near)}"
        )


class ArtifactForbidden(ArtifactError):
    """Not permitted. S3 also answers this for a missing object, to callers that may not list the bucket."""

    status = 403
    fault = Fault.ARTIFACT_MISSING

    def __init__(self, bucket: str, key: str, signed: bool = True) -> None:
        hint = "" if signed else " No AWS credentials were found, so the request went unsigned."
        super().__init__(
            f"Failed to download model data (bucket: {bucket}, key: {key}). Please ensure that there is an object "
            f"located at the URL and that the credentials have permission to read it (s3:GetObject).{hint}"
        )


class ArtifactInvalid(ArtifactError):
    status = 422
    fault = Fault.ARTIFACT_INVALID

    def __init__(self, key: str, reason: str, remedy: str = "Pack it anew and upload it again") -> None:
        self.reason = reason
        super().__init__(f"Model data (key: {key}) cannot be used: {reason}. {remedy}.")


class StoreUnreachable(ArtifactError):
    status = 502
    fault = Fault.STORE_UNREACHABLE

    def __init__(self, bucket: str, key: str, reason: str) -> None:
        super().__init__(
            f"Failed to download model data (bucket: {bucket}, key: {key}): {reason}. "
            "Please check the S3 endpoint and the region, and try again."
        )


class DownloadBroken(StoreUnreachable):
    """The download was cut off, damaged, or overwritten meanwhile: another attempt may succeed."""


class DiskFull(ArtifactError):
    status = 507
    fault = Fault.MACHINE_FAILED

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(f"No room on the instance's disk for the model data (key: {key}): {reason}.")


class DiskTooSmall(DiskFull):
    """The artifact is over the whole budget of the disk."""

    fault = Fault.NO_ROOM


@contextmanager
def disk_full_for(key: str) -> Iterator[None]:
    """Turn the system's "no space left" into DiskFull."""
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_SPACE:
            raise
        raise DiskFull(key, error.strerror or "no space left") from error
