"""One invocation on its way through the endpoint: what it waited for and what became of it, for whoever accounts."""

import json
from dataclasses import dataclass, field

from torpor_container import wire
from torpor_container.wire import Step
from torpor_endpoint.ledger.records import Invocation
from torpor_endpoint.runtime.router import Route, Served

OVERHEAD = Step.OVERHEAD.value
COLD = wire.COLD.lower().encode()
EFFORT = wire.EFFORT.lower().encode()


@dataclass
class Journey:
    """It begins when the request's first byte is there. Times are of the router's clock, but for `at_s`."""

    request_id: str
    at_s: float  # epoch seconds
    began_s: float
    request_bytes: int = 0
    steps: dict[str, float] = field(default_factory=dict)
    route: Route | None = None
    served: Served | None = None

    def whole(self, total_s: float) -> dict[str, float]:
        """All steps, with what none of them explains as overhead: they add up to the wall time."""
        return {**self.steps, OVERHEAD: max(0.0, total_s - sum(self.steps.values()))}

    def ended(self, status: int, response_bytes: int, total_s: float, steps: dict[str, float]) -> Invocation | None:
        """For the ledger; None of a request that was sent to no variant. `steps` are the whole ones."""
        if self.route is None:
            return None
        return Invocation(
            self.at_s,
            self.request_id,
            self.route.live.name,
            self.route.variant,
            (self.route.target or "").removeprefix("/"),
            self.served.instance if self.served else "",
            status,
            steps,
            total_s,
            self.request_bytes,
            response_bytes,
            *self._told(),
        )

    def _told(self) -> tuple[wire.Cold | None, wire.Effort | None]:
        """What the instance says of a load, and of the prediction."""
        told = dict(self.served.answer.headers) if self.served else {}
        cold: wire.Cold | None = json.loads(told[COLD]) if COLD in told else None
        effort: wire.Effort | None = None
        if EFFORT in told:
            work_s, delay_s = map(float, told[EFFORT].split())
            effort = {"work_s": work_s, "delay_s": delay_s}
        return cold, effort


def server_timing(steps: dict[str, float]) -> bytes:
    """What the caller reads, in milliseconds."""
    return ", ".join([f"{step};dur={took_s * 1000:.3f}" for step, took_s in steps.items()]).encode()


def steps_of(told: bytes) -> dict[str, float]:
    """Seconds by step of an instance's Server-Timing, its own overhead left out: ours is measured around it."""
    steps = [part.partition(";dur=") for part in told.decode("latin-1").split(", ")]
    return {name: float(took_ms) / 1000 for name, _, took_ms in steps if took_ms and name != OVERHEAD}
