"""The books of one request's way through the containers of an instance: seconds, steps, and headers for later.

Pure: values, and what is read from the headers of answers.
"""

import json
from dataclasses import dataclass, field
from typing import Protocol

from torpor_container import wire

Headers = list[tuple[bytes, bytes]]

COLD = wire.COLD.lower().encode()
SERVER_TIMING = wire.SERVER_TIMING.lower().encode()
OVERHEAD = wire.WaitStep.OVERHEAD.value
NO_MEMORY = 507
"""AWS: "If there is not enough memory, the container must return an HTTP 507"."""
NOTED = frozenset(
    name.lower().encode()
    for name in (
        wire.COLD,
        wire.MODEL_CACHE,
        wire.ARTIFACT_VERSION,
        wire.ARTIFACT_DIGEST,
        wire.NEW_SESSION_ID,
        wire.CLOSED_SESSION_ID,
    )
)
"""The headers of an answer that the endpoint reads at the end, from whichever container they are."""


class PartAnswer(Protocol):
    """The whole answer of a container. Header names are in lower case."""

    status: int
    headers: Headers
    chunks: list[bytes]
    alike: bytes
    """The lines of its headers but `Server-Timing`; empty if they are unknown, or no longer those of `headers`."""

    def header(self, name: bytes) -> bytes | None: ...


@dataclass(slots=True)
class Trail:
    """What the containers of an instance have done for one request so far."""

    seconds: dict[str, float] = field(default_factory=dict)
    """By container, in the order of the path."""
    steps: list[dict[str, float]] = field(default_factory=list)
    """The steps of each container, in the order of the path, in seconds; a container that gave no answer has none."""
    noted: Headers = field(default_factory=list)
    """Headers of the earlier answers that the endpoint reads."""
    totals: dict[str, float] = field(default_factory=dict)
    """Seconds by step, to which those of each container but the last are added."""

    def answered(self, container: str, answer: PartAnswer, took_s: float, *, last: bool) -> None:
        """A container has answered. The last answer gets the noted headers that it lacks; its steps are the caller's to
        take, with those of a variant of one container."""
        self.seconds[container] = self.seconds.get(container, 0.0) + took_s
        if not last:
            steps = steps_of(answer)
            self.steps.append(steps)
            for step, step_s in steps.items():
                self.totals[step] = self.totals.get(step, 0.0) + step_s
            if answer.headers:
                self.noted += [header for header in answer.headers if header[0] in NOTED]
        elif self.noted:
            present = {name for name, _ in answer.headers}
            answer.headers.extend([header for header in self.noted if header[0] not in present])
            answer.alike = b""

    def begin_anew(self) -> None:
        """The request begins at its first container again."""
        self.seconds.clear()
        self.steps.clear()
        self.noted.clear()


def lacked_room(answer: PartAnswer) -> bool:
    """Whether a container found no memory for a request, or a model left for the model of this request."""
    if answer.status == NO_MEMORY:
        return True
    cold = answer.header(COLD)
    return cold is not None and bool(json.loads(cold)["victims"])


def has_led(answer: PartAnswer) -> bool:
    """Whether the request led the load of its model, and so waited for all of it."""
    cold = answer.header(COLD)
    return cold is not None and "joined" not in json.loads(cold)


def steps_of(answer: PartAnswer) -> dict[str, float]:
    """Seconds by step of an instance's Server-Timing, without its overhead: the endpoint measures its own around it."""
    header = answer.header(SERVER_TIMING)
    if header is None:
        return {}
    steps = {}
    for part in header.decode("latin-1").split(", "):
        name, _, took_ms = part.partition(";dur=")
        if took_ms and name != OVERHEAD:
            steps[name] = float(took_ms) / 1000
    return steps
