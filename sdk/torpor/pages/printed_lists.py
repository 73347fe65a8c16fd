"""Makes lists of instances and models that print as tables."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from torpor_endpoint.core.pages.model_versions import ModelVersions, VersionState
from torpor_endpoint.core.pages.plain_figures import size
from torpor_endpoint.core.pages.state import InstanceState, ResidentModel

Record = TypeVar("Record")

GAP = "  "


@dataclass(frozen=True)
class Column(Generic[Record]):
    """One column of a table: its heading, the text of a record's cell, and whether it is aligned to the right."""

    heading: str
    cell: Callable[[Record], str]
    right: bool = False


class Listing(list[Record]):
    """A list whose `repr` is a table with one row for each record. Everything else is as in a plain list."""

    def __init__(self, records: Iterable[Record], columns: Sequence[Column[Record]], nothing: str) -> None:
        """`nothing` is the `repr` of an empty list."""
        super().__init__(records)
        self._columns = columns
        self._nothing = nothing

    def __repr__(self) -> str:
        if not self:
            return self._nothing
        table = [[column.heading, *map(column.cell, self)] for column in self._columns]
        padded = [_padded(cells, column.right) for cells, column in zip(table, self._columns, strict=True)]
        return "\n".join(GAP.join(row).rstrip() for row in zip(*padded, strict=True))


def _padded(cells: Sequence[str], right: bool) -> list[str]:
    width = max(map(len, cells))
    return [cell.rjust(width) if right else cell.ljust(width) for cell in cells]


INSTANCES: tuple[Column[InstanceState], ...] = (
    Column("instance", lambda one: one.id),
    Column("memory", lambda one: f"{size(one.used_bytes)} of {size(one.budget_bytes)}", right=True),
    Column("models", lambda one: f"{len(one.models):,}", right=True),
    Column("in flight", lambda one: f"{one.in_flight:,}", right=True),
)

MODELS: tuple[Column[ResidentModel], ...] = (
    Column("model", lambda one: one.name),
    Column("format", lambda one: one.format),
    Column("memory", lambda one: size(one.size_bytes), right=True),
    Column("hits", lambda one: f"{one.hits:,}", right=True),
    Column("in flight", lambda one: f"{one.in_flight:,}", right=True),
    Column("idle", lambda one: f"{one.idle_s:.1f} s", right=True),
    Column("instance", lambda one: one.instance),
)


VERSIONS: tuple[Column[ModelVersions], ...] = (
    Column("model", lambda one: one.model),
    Column("variant", lambda one: one.variant),
    Column("default", lambda one: "-" if one.default is None else str(one.default), right=True),
    Column("labels", lambda one: ", ".join(f"{label}={number}" for label, number in sorted(one.labels.items())) or "-"),
    Column("versions", lambda one: ", ".join(map(version_mark, one.versions)) or "-"),
    Column("waits or fails", lambda one: one.fault or ", ".join(f"{a} for {b}" for a, b in sorted(one.waits.items()))),
)


def version_mark(version: VersionState) -> str:
    """The version's number: with a star if it is in memory, in brackets if no call may name it, and with a mark if it
    could not be loaded lately."""
    number = f"{version.version}{'*' if version.resident else ''}{'!' if version.fault else ''}"
    return number if version.answers else f"({number})"


def versions(records: Iterable[ModelVersions]) -> Listing[ModelVersions]:
    """The versions of models, by name. A star marks what is in memory, brackets what answers no call."""
    return Listing(sorted(records, key=lambda one: (one.model, one.variant)), VERSIONS, "no model has versions")


def instances(records: Iterable[InstanceState]) -> Listing[InstanceState]:
    """Instances, in the order given."""
    return Listing(records, INSTANCES, "no instance runs")


def models(records: Iterable[ResidentModel]) -> Listing[ResidentModel]:
    """Models in memory, by name."""
    return Listing(sorted(records, key=lambda model: model.name), MODELS, "no model is in memory")
