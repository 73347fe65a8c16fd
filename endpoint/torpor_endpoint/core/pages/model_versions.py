"""The page of versions: of each model with versions, what answers, which versions there are, and where they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from torpor_container.typed_json import read, written
from torpor_endpoint.core.pages import Json


@dataclass(frozen=True)
class VersionState:
    """One version that lies below the prefix. `answers` says whether calls may name it, and `resident` has the
    instances that have it in memory. `fault`: why an instance could not load it lately."""

    version: int
    key: str
    answers: bool
    labels: tuple[str, ...] = ()
    resident: tuple[str, ...] = ()
    fault: str = ""


@dataclass(frozen=True)
class ModelVersions:
    """What one variant does with the versions of one model. `default` answers calls without a version. `waits` has, for
    the default and each label whose version has not taken over yet, that version. `fault`: why no call is answered."""

    model: str
    variant: str
    default: int | None
    labels: Mapping[str, int]
    versions: tuple[VersionState, ...]
    waits: Mapping[str, int] = field(default_factory=dict)
    crowded: tuple[int, ...] = ()
    """The numbers whose folders hold several objects, and so are no versions."""
    fault: str = ""


def versions_page(models: Sequence[ModelVersions]) -> Json:
    return {"models": written(models)}


def read_versions(page: Json) -> tuple[ModelVersions, ...]:
    return read(tuple[ModelVersions, ...], page["models"])


def told_versions(one: ModelVersions) -> str:
    """`versions: 6, 7; in memory: 7; calls without a version: 7; stable: 6`"""
    numbers = ", ".join(str(each.version) for each in one.versions) or "none"
    held = ", ".join(str(each.version) for each in one.versions if each.resident) or "none"
    default = "none" if one.default is None else str(one.default)
    labels = "".join(f"; {label}: {number}" for label, number in sorted(one.labels.items()))
    waits = "".join(f"; {label} waits for {number}" for label, number in sorted(one.waits.items()))
    return f"versions: {numbers}; in memory: {held}; calls without a version: {default}{labels}{waits}"
