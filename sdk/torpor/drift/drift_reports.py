"""The report of each target model: its three files, as AWS's analyzer names them, and where baselines come from."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
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
        self.write_files(folder / folder_of(self.model))

    def write_files(self, own: Path) -> None:
        """Write the files into this folder."""
        own.mkdir(parents=True, exist_ok=True)
        texts: dict[str, Any] = {STATISTICS: self.statistics, CONSTRAINTS: self.constraints}
        if self.violations is not None:
            texts[VIOLATIONS] = {"violations": [one.form() for one in self.violations]}
        for name, value in texts.items():
            (own / name).write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def folder_of(model: str) -> str:
    """The folder of a model's files: its name, whose slashes are percent-encoded."""
    return quote(model or ONLY, safe="()@ ").replace("..", "%2E%2E")


class ModelRows:
    """Adds up rows for each model. Its memory grows with models and columns, and not with rows.

    Rows from `began_s` on and before `ended_s`, in epoch seconds, are compared. `baseline_for` has the baselines; where
    it is None, each model's rows before `began_s` are its own. `names` are those of the rows' columns, where they are
    known; the baseline's else.
    """

    def __init__(
        self,
        baseline_for: "Baselines | None" = None,
        began_s: float | None = None,
        ended_s: float | None = None,
        names: Sequence[str] = (),
    ) -> None:
        self._names = names
        self._baseline_for = baseline_for
        self._began_s, self._ended_s = began_s, ended_s
        self._compared: dict[str, RowStatistics] = {}
        self._earlier: dict[str, RowStatistics] = {}

    def add(self, rows: Iterable[CapturedRow]) -> None:
        for row in rows:
            if self._began_s is not None and row.at_s < self._began_s:
                self._earlier.setdefault(row.model, RowStatistics()).add(row.values)
            elif self._ended_s is None or row.at_s < self._ended_s:
                if row.model not in self._compared:
                    self._compared[row.model] = self._begun(row.model)
                self._compared[row.model].add(row.values)

    def reports(self) -> list[DriftReport]:
        """A report for each model, in order of their names. A model without a baseline gets one of its own."""
        return [_report(model, found, self._baseline(model)) for model, found in sorted(self._compared.items())]

    def _begun(self, model: str) -> RowStatistics:
        known = None if self._baseline_for is None else self._baseline_for(model)
        return RowStatistics.of((), self._names or (() if known is None else known.names))

    def _baseline(self, model: str) -> DriftBaseline | None:
        if self._baseline_for is not None:
            return self._baseline_for(model)
        earlier = self._earlier.get(model)
        if earlier is None:
            return None
        self._compared[model].widen(len(earlier.columns))
        return DriftBaseline.of(earlier)


Baselines = Callable[[str], DriftBaseline | None]
"""The baseline of a model; None for one without."""


def read_baseline(place: Path) -> Baselines:
    """The baseline of a CSV file, for all models; or of a folder that `DriftReport.write` has written, of each model.
    Raises TorporError, OSError, and so does what it returns."""
    if place.is_dir():
        return cache(
            lambda model: read_folder(place / folder_of(model)) if (place / folder_of(model)).is_dir() else None
        )
    if not place.exists():
        raise TorporError(f"--baseline {place}: there is no such file or folder")
    header, rows = csv_rows(place.read_text(encoding="utf-8-sig"))
    of_all = DriftBaseline.of(RowStatistics.of(rows, header))
    return lambda model: of_all


def read_folder(folder: Path) -> DriftBaseline:
    """Raises TorporError for files of another form."""
    return read_files(folder / STATISTICS, folder / CONSTRAINTS)


def read_files(statistics: Path, constraints: Path) -> DriftBaseline:
    """Raises TorporError for files of another form."""
    try:
        found = DriftBaseline(json.loads(statistics.read_text()), json.loads(constraints.read_text()))
        baseline_columns(found.statistics)
        assert all(isinstance(name, str) for name in found.names)
    except (ValueError, KeyError, TypeError, AttributeError, AssertionError, RecursionError) as error:
        raise TorporError(f"{statistics.parent} has no baseline: {error!r}") from None
    return found


def _report(model: str, found: RowStatistics, baseline: DriftBaseline | None) -> DriftReport:
    if baseline is None:
        return DriftReport(model, found.rows, found.form(), suggested(found), None)
    told = violations(found, baseline.constraints, baseline_columns(baseline.statistics))
    return DriftReport(model, found.rows, found.form(), baseline.constraints, told)
