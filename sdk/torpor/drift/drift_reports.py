"""The report of each target model: its three files, as AWS's analyzer names them, and where baselines come from."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from torpor.drift.captured_rows import CapturedRow, csv_rows
from torpor.drift.core.column_statistics import RowStatistics
from torpor.drift.core.drift_constraints import ColumnViolation, baseline_columns, suggested, violations
from torpor.errors import TorporError

STATISTICS, CONSTRAINTS, VIOLATIONS = "statistics.json", "constraints.json", "constraint_violations.json"
ONLY = "(the only model)"
"""The name of the model of an endpoint of one."""


@dataclass(frozen=True)
class DriftBaseline:
    """What rows are compared with. Both are as their files have them."""

    statistics: Mapping[str, Any]
    constraints: Mapping[str, Any]

    @classmethod
    def of(cls, found: RowStatistics) -> "DriftBaseline":
        return cls(found.form(), suggested(found))

    @property
    def names(self) -> list[str]:
        return [one["name"] for one in self.constraints["features"]]


@dataclass(frozen=True)
class DriftReport:
    """`violations` is None without a baseline: the files are a baseline themselves then."""

    model: str
    rows: int
    statistics: Mapping[str, Any]
    constraints: Mapping[str, Any]
    violations: Sequence[ColumnViolation] | None

    def write(self, folder: Path) -> None:
        """Write the files of this model into a folder of its own below `folder`."""
        own = folder / folder_of(self.model)
        own.mkdir(parents=True, exist_ok=True)
        texts: dict[str, Any] = {STATISTICS: self.statistics, CONSTRAINTS: self.constraints}
        if self.violations is not None:
            texts[VIOLATIONS] = {"violations": [one.form() for one in self.violations]}
        for name, value in texts.items():
            (own / name).write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def folder_of(model: str) -> str:
    """The folder of a model's files: its name, whose slashes are percent-encoded."""
    return quote(model or ONLY, safe="()@ ").replace("..", "%2E%2E")


def reports(rows: Iterable[CapturedRow], baseline_for: Mapping[str, DriftBaseline]) -> list[DriftReport]:
    """A report for each model, in order of their names. A model without a baseline gets one of its own. `baseline_for`
    may be a mapping with one for any model."""
    found: dict[str, RowStatistics] = {}
    for row in rows:
        if row.model not in found:
            known = baseline_for.get(row.model)
            found[row.model] = RowStatistics.of((), () if known is None else known.names)
        found[row.model].add(row.values)
    return [_report(model, found[model], baseline_for.get(model)) for model in sorted(found)]


class SameForAll(dict[str, DriftBaseline]):
    """One baseline for any model."""

    def __init__(self, baseline: DriftBaseline) -> None:
        super().__init__()
        self._baseline = baseline

    def get(self, key: str, default: Any = None) -> Any:
        return self._baseline


def read_baseline(place: Path, models: Iterable[str] = ()) -> Mapping[str, DriftBaseline]:
    """The baseline of a CSV file, for all models; or of a folder that `DriftReport.write` has written, for each of the
    models. Raises TorporError, OSError."""
    if place.is_dir():
        return {model: read_folder(place / folder_of(model)) for model in models if (place / folder_of(model)).is_dir()}
    if not place.exists():
        raise TorporError(f"--baseline {place}: there is no such file or folder")
    header, rows = csv_rows(place.read_text(encoding="utf-8-sig"))
    return SameForAll(DriftBaseline.of(RowStatistics.of(rows, header)))


def read_folder(folder: Path) -> DriftBaseline:
    """Raises TorporError for files of another form."""
    try:
        found = DriftBaseline(
            json.loads((folder / STATISTICS).read_text()), json.loads((folder / CONSTRAINTS).read_text())
        )
        baseline_columns(found.statistics)
        assert all(isinstance(name, str) for name in found.names)
    except (ValueError, KeyError, TypeError, AttributeError, AssertionError, RecursionError) as error:
        raise TorporError(f"{folder} has no baseline: {error!r}") from None
    return found


def _report(model: str, found: RowStatistics, baseline: DriftBaseline | None) -> DriftReport:
    if baseline is None:
        return DriftReport(model, found.rows, found.form(), suggested(found), None)
    told = violations(found, baseline.constraints, baseline_columns(baseline.statistics))
    return DriftReport(model, found.rows, found.form(), baseline.constraints, told)
