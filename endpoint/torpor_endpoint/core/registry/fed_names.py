"""Names below prefixes whose versions are the approved packages of a group, and the record of what was put there.

A container of many models names them in its `Environment` (TORPOR_FED_BY). Nothing here reads a store.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from torpor_container.core.versions.group_feeds import group_feeds
from torpor_endpoint.core.resource_records import Container

FED_BY: Final = "TORPOR_FED_BY"


@dataclass(frozen=True)
class FedName:
    """One name below a prefix. `folder` has its versions, ends with a slash, and is a key of the bucket."""

    bucket: str
    folder: str
    group: str
    role: str

    def folder_of(self, version: int) -> str:
        """The folder of one version."""
        return f"{self.folder}{version}/"

    @property
    def url(self) -> str:
        return f"s3://{self.bucket}/{self.folder}"


@dataclass(frozen=True)
class FedVersion:
    """One object that a package has put below a prefix. `name` is `bucket/key`; `source_etag` is that of the package's
    artifact when it was copied, and `etag` that of the copy."""

    name: str
    folder: str
    group: str
    version: int
    package_arn: str
    source: str
    source_etag: str
    etag: str
    fed_at_s: float

    @property
    def bucket(self) -> str:
        return self.name.partition("/")[0]

    @property
    def key(self) -> str:
        return self.name.partition("/")[2]


def record_name(bucket: str, key: str) -> str:
    return f"{bucket}/{key}"


def fed_names(containers: Iterable[Container]) -> Iterator[FedName]:
    """The names that these containers have fed by groups."""
    for container in containers:
        if container.multi_model and container.model_data_url is not None:
            bucket, _, key = container.model_data_url.removeprefix("s3://").partition("/")
            prefix = f"{key.removesuffix('/')}/" if key else ""
            for name, group in group_feeds(container.environment.get(FED_BY, "")).items():
                yield FedName(bucket, f"{prefix}{name}/", group, container.role)
