"""One invocation on its way through the endpoint: what it waited for and what became of it, for whoever accounts."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from torpor_container import wire
from torpor_container.wire import WaitStep
from torpor_endpoint.core.ledger_records import InvocationRecord
from torpor_endpoint.services.runtime.errors import RuntimeFault
from torpor_endpoint.services.runtime.router import Route, Served

OVERHEAD = WaitStep.OVERHEAD.value
COLD = wire.COLD.lower().encode()
EFFORT = wire.EFFORT.lower().encode()


@dataclass(slots=True)
class Journey:
    """It begins when the request's first byte is there. Times are of the router's clock, but for `at_s`."""

    request_id: str
    at_s: float  # epoch seconds
    began_s: float
    request_bytes: int = 0
    steps: dict[str, float] = field(default_factory=dict)
    route: Route | None = None  # of what was sent to a variant, or was to be
    outcome: Served | RuntimeFault | None = None
    status: int = 0
    response_bytes: int = 0
    total_s: float = 0.0

    def end(self, status: int, response_bytes: int, total_s: float) -> None:
        """What no step explains is overhead: the steps add up to the wall time."""
        self.status, self.response_bytes, self.total_s = status, response_bytes, total_s
        self.steps[OVERHEAD] = max(0.0, total_s - sum(self.steps.values()))

    @property
    def ended_at_s(self) -> float:
        """Epoch seconds."""
        return self.at_s + self.total_s

    def invocation(self, route: Route, instance: str, told: Mapping[bytes, bytes]) -> InvocationRecord:
        """For the ledger; `told` are the headers of the instance's answer."""
        return InvocationRecord(
            self.at_s,
            self.request_id,
            route.live.name,
            route.variant,
            (route.target or "").removeprefix("/"),
            instance,
            self.status,
            self.steps,
            self.total_s,
            self.request_bytes,
            self.response_bytes,
            _cold(told),
            _effort(told),
        )


def _cold(told: Mapping[bytes, bytes]) -> wire.ColdLoad | None:
    """What the instance says of a load."""
    cold: wire.ColdLoad | None = json.loads(told[COLD]) if COLD in told else None
    return cold


def _effort(told: Mapping[bytes, bytes]) -> wire.EffortFields | None:
    """What the prediction took, if it was measured."""
    if EFFORT not in told:
        return None
    work_s, delay_s = map(float, told[EFFORT].split())
    return {"work_s": work_s, "delay_s": delay_s}


def server_timing(steps: dict[str, float]) -> bytes:
    """What the caller reads, in milliseconds."""
    return ", ".join([f"{step};dur={took_s * 1000:.3f}" for step, took_s in steps.items()]).encode()


def steps_of(told: bytes) -> dict[str, float]:
    """Seconds by step of an instance's Server-Timing, its own overhead left out: ours is measured around it."""
    steps = [part.partition(";dur=") for part in told.decode("latin-1").split(", ")]
    return {name: float(took_ms) / 1000 for name, _, took_ms in steps if took_ms and name != OVERHEAD}
