"""`python -m torpor.drift.analyzer /opt/ml`: stands for AWS's image sagemaker-model-monitor-analyzer in jobs.

Its environment is that of AWS's contract for containers of Model Monitor (SageMaker developer guide, "Container
Contract Inputs" and "Outputs"): `dataset_source`, `dataset_format`, `output_path`, `baseline_statistics`,
`baseline_constraints`, `start_time`, `end_time`. Other than AWS's, it compares each target model by itself: the files
of a model are in a folder of its name below `output_path`, and those of records without a model in `output_path`.
"""

import json
import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from torpor.drift.dataset_forms import DatasetForm, dataset_form
from torpor.drift.drift_reports import Baselines, DriftBaseline, DriftReport, ModelRows, read_baseline, read_files
from torpor.errors import TorporError

OPT_ML = "/opt/ml"
UNSUPPORTED = {
    "record_preprocessor_script": "prepare the records before",
    "post_analytics_processor_script": "read constraint_violations.json after the job",
}


class MonitoringJob:
    """One run. `environment` is that of the contract; `root` stands for /opt/ml."""

    def __init__(self, environment: Mapping[str, str], root: Path) -> None:
        self._environment = environment
        self._root = root

    def run(self) -> str:
        """Write the files, and return the exit message. Raises TorporError, OSError."""
        self._check()
        rows = self._format().rows(self._place("dataset_source"))
        seen = ModelRows(self._baselines(), self._time("start_time"), self._time("end_time"), rows.names)
        seen.add(rows.read())
        skipped = rows.skipped
        made = seen.reports()
        if not made:
            raise TorporError(f"dataset_source has no rows; {skipped} records are no CSV or JSON")
        for one in made:
            self._write(one)
        found = sum(len(one.violations or ()) for one in made)
        with_violations = f"CompletedWithViolations: Job completed successfully with {found} violations."
        return with_violations if found else "Completed: Job completed successfully with no violations."

    def _write(self, report: DriftReport) -> None:
        place = self._place("output_path")
        if report.model:
            report.write(place)
        else:
            report.write_files(place)

    def _check(self) -> None:
        for name, instead in UNSUPPORTED.items():
            if self._environment.get(name):
                raise TorporError(f"{name} is not supported by Torpor: {instead}")
        if self._environment.get("publish_cloudwatch_metrics", "Disabled") != "Disabled":
            raise TorporError("publish_cloudwatch_metrics must be Disabled: Torpor has no metrics of drift")

    def _place(self, name: str) -> Path:
        """The folder or file that a variable names."""
        path = self._environment.get(name, "")
        if path != OPT_ML and not path.startswith(f"{OPT_ML}/"):
            raise TorporError(f"the variable {name} must be a path below {OPT_ML}")
        return self._root / path.removeprefix(OPT_ML).lstrip("/")

    def _time(self, name: str) -> float | None:
        text = self._environment.get(name)
        if not text:
            return None
        try:
            found = datetime.fromisoformat(text)
        except ValueError:
            raise TorporError(f"the variable {name} must be a time such as 2026-11-29T12:00:00Z") from None
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()

    def _format(self) -> DatasetForm:
        try:
            found = json.loads(self._environment.get("dataset_format", ""))
        except (ValueError, RecursionError):
            found = None
        return dataset_form(found)

    def _baselines(self) -> Baselines | None:
        given = [name for name in ("baseline_statistics", "baseline_constraints") if self._environment.get(name)]
        if not given:
            return None
        places = [self._place(name) for name in given]
        if len(given) < 2 and not places[0].is_dir():
            raise TorporError("baseline_statistics and baseline_constraints must be given together")
        if places[0].is_dir():
            return read_baseline(places[0])
        of_all: DriftBaseline = read_files(*places)
        return lambda model: of_all


def main() -> int:
    """Returns the exit code."""
    root = Path(sys.argv[1])
    try:
        message = MonitoringJob(os.environ, root).run()
    except (TorporError, OSError) as error:
        print(error, flush=True)
        return 1
    print(message, flush=True)
    (root / "output").mkdir(exist_ok=True)
    (root / "output" / "message").write_text(message)
    return 0


if __name__ == "__main__":
    sys.exit(main())
