"""One workload's live side: an endpoint of its own whose clock can be moved, its traffic, and what became of it."""

import shutil
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from torpor.confirming.core.forecast_beside_fact import MachineStrain, TrafficFigures
from torpor.confirming.live_endpoint import ConfirmingEndpoint
from torpor.confirming.live_sending import lived
from torpor.hosting.endpoint_deployment import EndpointPlan, deploy
from torpor.hosting.endpoint_options import BUCKET
from torpor.hosting.endpoint_process import ChildEndpoint, Start
from torpor.hosting.model_copies import copy_models
from torpor.pages import clock
from torpor.replay.paced_sending import ReplayPace
from torpor.replay.target import Target
from torpor.workloads import Chunk, Recorded

NAME = "workload"
GAP_S = 3.0
SLO_S = 1.0
MINUTE_S = 60.0
IN_FLIGHT_MAX = 96
ROW = ("text/csv", b"0.5")


@dataclass(frozen=True)
class WorkloadPlayed:
    """What came of a workload, and where its ledger lies. `changes` are the fields of a scenario that its ledger does
    not have: what the user has deployed."""

    figures: TrafficFigures
    strain: MachineStrain
    ledger: Path
    window_s: float  # the time of the bill
    changes: Mapping[str, Any] = field(default_factory=dict)
    endpoint: str = NAME
    by_job: bool = False  # a batch transform job had the requests that are in the ledger


@dataclass(frozen=True)
class WorkloadStage:
    """A process, and a folder for what is kept of it."""

    process: ChildEndpoint
    folder: Path

    def deployed(self, plan: EndpointPlan) -> ConfirmingEndpoint:
        deploy(self.process.client("sagemaker"), plan)
        connection = self.process.connection
        return ConfirmingEndpoint(connection, Target(connection, plan.name, plan.multi_model), True)

    def models(self, folder: Path, name: str = NAME) -> str:
        """The S3 prefix that has the files of the folder now."""
        copy_models(folder, self.process.bucket_folder(BUCKET) / name)
        return f"s3://{BUCKET}/{name}/"

    def asleep(self, endpoint: ConfirmingEndpoint, idle_s: float) -> None:
        """Move the clock until no instance is ready."""
        while endpoint.ready():
            clock.advance(endpoint.connection, idle_s + MINUTE_S)

    def played(
        self, endpoint: ConfirmingEndpoint, trace: Recorded, slo_s: float, rest_s: float, **changes: Any
    ) -> WorkloadPlayed:
        """Send the trace, let the endpoint rest for so long, and take its ledger, whose minutes are over then."""
        window_s = float(trace.parts[0].times_s[-1]) + rest_s
        outcome = lived(
            trace, endpoint, lambda model, size: ROW, ReplayPace(in_flight_max=IN_FLIGHT_MAX), GAP_S, slo_s, window_s
        )
        return WorkloadPlayed(outcome.figures, outcome.strain, self.ledger(endpoint), window_s, changes)

    def ledger(self, endpoint: ConfirmingEndpoint) -> Path:
        """A copy of the ledger, with its last minute over."""
        clock.advance(endpoint.connection, 2 * MINUTE_S)
        return self.kept(endpoint.name)

    def kept(self, name: str) -> Path:
        """A copy of the ledger as it is now."""
        kept = self.folder / f"{name}.sqlite"
        with closing(sqlite3.connect(self.process.data_dir / "ledger.sqlite")) as ledger:
            with closing(sqlite3.connect(kept)) as copy:
                ledger.backup(copy)
        return kept


@contextmanager
def stage(folder: Path) -> Iterator[WorkloadStage]:
    with ChildEndpoint(Start(travelling_clock=True)) as process:
        yield WorkloadStage(process.until_ready(), folder)
    shutil.rmtree(folder / "models", ignore_errors=True)


def zipf_calls(models: int, requests: int, rate_hz: float, seed: int, burst: int = 0, nap_s: float = 0.0) -> Recorded:
    """Requests by Zipf's law with an exponent of 1 in Poisson's gaps; with `burst`, `nap_s` seconds of quiet after each
    so many."""
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, models + 1)
    numbers = rng.choice(models, requests, p=weights / weights.sum()).astype(np.int32)
    times_s = np.cumsum(rng.exponential(1 / rate_hz, requests))
    if burst:
        times_s += nap_s * (np.arange(requests) // burst)
    return Recorded(names(models), [Chunk(times_s - times_s[0], numbers)])


def names(models: int) -> Sequence[str]:
    return [f"model-{number:03}.tar.gz" for number in range(models)]
