"""What an endpoint's own ledger and metrics say of a stretch of time: for traffic that no replay sends."""

import os
import sqlite3
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

from torpor.confirming.core.forecast_beside_fact import MachineStrain, TrafficFigures
from torpor.confirming.live_endpoint import ConfirmingEndpoint
from torpor.confirming.live_sending import WRITTEN_S, InstanceWatch, costs_of, counted_by, until_a_minute_begins
from torpor_container.waiting.quiet_time import busy_s

SUMS = """SELECT coalesce(sum(requests), 0), coalesce(sum(cold), 0), coalesce(sum(errors), 0),
    coalesce(sum(predict_ms), 0) FROM minutes
    WHERE endpoint = ?"""
WAKES = "SELECT count(*) FROM lives WHERE endpoint = ? AND started_s >= ? AND why_started <> 'deployed'"


@dataclass(eq=False)
class LedgerWindow:
    """A stretch of time, from its making until it is closed. The endpoint has had no requests before."""

    endpoint: ConfirmingEndpoint
    _looks: InstanceWatch = field(init=False)
    _open: ExitStack = field(default_factory=ExitStack, init=False)

    def __post_init__(self) -> None:
        self._minute_s = until_a_minute_begins(self.endpoint)
        self._looks = InstanceWatch(self.endpoint)
        self._open.enter_context(self._looks.watching())
        self._counts = counted_by(self.endpoint)
        self._began_s = self.endpoint.now_s()
        self._real_s, self._busy_s = time.monotonic(), busy_s()

    def closed(self, ledger: Path) -> tuple[TrafficFigures, MachineStrain, float]:
        """The figures, how busy the machine was, and how long it was by the endpoint's clock. Latencies are in no sum
        of a ledger, so none is known, and no request is late."""
        wall_s, waited_s = time.monotonic() - self._real_s, busy_s() - self._busy_s
        self._open.close()
        time.sleep(WRITTEN_S)
        until_s, name = self.endpoint.now_s(), self.endpoint.name
        since = counted_by(self.endpoint) - self._counts
        instance_s, usd = costs_of(self.endpoint, self._minute_s, until_s)
        with closing(sqlite3.connect(ledger)) as rows:
            requests, cold, errors, billed_ms = rows.execute(SUMS, (name,)).fetchone()
            (wakes,) = rows.execute(WAKES, (name, self._began_s)).fetchone()
        figures = TrafficFigures(
            requests, errors, errors, requests - cold, since.loads, since.unloads, wakes, self._looks.most, None, None,
            instance_s, usd, billed_ms=billed_ms,
        )  # fmt: skip
        strain = MachineStrain(0.0, waited_s / wall_s, errors, 0, 1, len(os.sched_getaffinity(0)))
        return figures, strain, until_s - self._began_s
