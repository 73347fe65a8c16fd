"""Says which object answers a TargetModel that names a model with versions. It reads nothing and waits for nothing.

A target names a version, a label, or neither:

    iris            what answers calls without a version: the label `default` where it is set, else the newest
    iris@3          version 3
    iris@stable     the version that the label points to

`@` means a version only after the name of a folder of versions, and only on an endpoint whose containers set
TORPOR_VERSIONS: every other target is a key, as on AWS. An object whose key could be taken for one of these names makes
the name unclear: calls get an error until it has another key (`version_layout`).

Every face resolves in the same way, since all go through `runtime.admitting`. One whose requests have name and version
apart (`/v2/models/iris/versions/3`, `/v1/models/iris/labels/stable`) makes the target by `target_for`, and finds what
there is in the `versions` of its pool: `names`, and `version_of` for the artifact that answered.
"""

import re
from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Final

from torpor_container.frozen_class import frozen

MARK: Final = "@"
DEFAULT: Final = "default"
"""The label that says which version answers calls without a version."""
LABEL: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]{0,62}")
NUMBER: Final = re.compile(r"[1-9][0-9]{0,17}")
SHOWN_MAX: Final = 12


class NoSuchVersion(ValueError):
    """A target names a version or a label that does not answer. The text says which there are."""


@frozen
class AnsweringVersions:
    """What answers the calls of one name. `artifacts` has the key below the prefix of each version that may answer.

    `default` is None, and `fault` says why, for a name that answers no call without a version.
    """

    artifacts: Mapping[int, str]
    default: int | None = None
    labels: Mapping[str, int] = field(default_factory=dict)
    fault: str = ""

    @property
    def pointers(self) -> dict[str, int]:
        """The version of each label, of the default too, if it has one."""
        return {**self.labels, **({} if self.default is None else {DEFAULT: self.default})}

    def number_of(self, version: str) -> int | None:
        """The version with this number or label, of those that may answer."""
        if NUMBER.fullmatch(version):
            return int(version) if int(version) in self.artifacts else None
        return self.default if version == DEFAULT else self.labels.get(version)


NO_VERSIONS: Final = AnsweringVersions({})


class ServedVersions:
    """The names with versions that one variant serves, and what answers each."""

    def __init__(self, names: Mapping[str, AnsweringVersions] = MappingProxyType({})) -> None:
        self._names = dict(names)

    @property
    def names(self) -> Mapping[str, AnsweringVersions]:
        """What answers each name."""
        return self._names

    def put(self, name: str, versions: AnsweringVersions | None) -> bool:
        """These versions answer the name from now on; None for a name that has none. Returns whether that is new."""
        if self._names.get(name) == versions:
            return False
        if versions is None:
            del self._names[name]
        else:
            self._names[name] = versions
        return True

    def resolved(self, target: str) -> str:
        """The key below the prefix that answers a target: the target itself, if it names no model with versions.

        Raises NoSuchVersion.
        """
        versions, name, version = self._names.get(target), target, DEFAULT
        if versions is None:
            name, mark, version = target.rpartition(MARK)
            versions = self._names.get(name) if mark else None
            if versions is None:
                return target
        if versions.fault:
            raise NoSuchVersion(f"TargetModel {target}: {versions.fault}.")
        number = versions.number_of(version)
        if number is None:
            raise NoSuchVersion(f"TargetModel {target}: {_missing(name, version, versions)}")
        return versions.artifacts[number]

    def version_of(self, key: str) -> tuple[str, int] | None:
        """The name and the number of a version by its artifact's key; None for any other key."""
        name, _, rest = key.rpartition("/")[0].rpartition("/")
        versions = self._names.get(name)
        if versions is None or not NUMBER.fullmatch(rest):
            return None
        number = int(rest)
        return (name, number) if versions.artifacts.get(number) == key else None


def target_for(name: str, version: str | int | None = None) -> str:
    """The TargetModel for a name and a version's number or label; without one, that of the name alone."""
    return name if version in (None, "") else f"{name}{MARK}{version}"


def _missing(name: str, version: str, versions: AnsweringVersions) -> str:
    numbers = sorted(versions.artifacts)
    shown = ", ".join(map(str, numbers[-SHOWN_MAX:])) or "none"
    there = f"versions that may answer: {shown}" + ("; the newest are shown." if len(numbers) > SHOWN_MAX else ".")
    if NUMBER.fullmatch(version):
        return f"model {name} has no version {version}; {there}"
    if version == DEFAULT:
        return f"no version of model {name} answers calls without a version; {there}"
    labels = ", ".join(sorted(versions.labels)) or "none"
    return f"model {name} has no label {version}; labels: {labels}; {there}"
