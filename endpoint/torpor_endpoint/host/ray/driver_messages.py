"""The messages between the endpoint, its driver and the actors, and the names in a Ray cluster. It does no I/O.

Endpoint and driver speak JSON, an object on a line: commands have a number, which their replies repeat. Everything else
that the driver says is news of one slot.
"""

from typing import Any, Final, NotRequired, TypedDict

from torpor_endpoint.host import Slot

LINE_MAX_BYTES = 4 * 1024 * 1024
OUTPUT_MAX_BYTES = 256 * 1024
"""The most of an instance's output in one message."""

PENDING, RUNNING, EXITED, GONE = "pending", "running", "exited", "gone"
"""The states of a slot, as the driver tells them: `host.Phase`, and `gone` for a slot without an actor."""
LEAVING = "leaving"
"""No state: the node of an instance that runs drains, or no longer does."""


class Order(TypedDict):
    """What an actor keeps running: everything that a node must know of one launch."""

    slot: str
    launch: str  # the first part of each incarnation's name
    secret: str  # of the launch, in hexadecimal digits: those of its incarnations follow from it
    environment: dict[str, str]
    forgotten: list[str]
    asked: dict[str, float]
    version: str  # of Torpor
    deployment: str
    container: str
    instance: str
    role: str  # as `LaunchSpec` has it
    configuration: str  # likewise


class ActorReport(TypedDict):
    """What an actor says of its instance: what the endpoint makes a `Launched` of, and a piece of the output.

    It is no `Launched`: the endpoint alone knows the log, and it derives the launch's secret itself, so that it greets
    nobody by a secret that came from the cluster. An actor that is kept may be of an earlier release.
    """

    incarnation: str
    host: str
    port: int
    since_s: float
    node: str
    ended: str | None  # how, once it has; the output is whole by then
    output: bytes  # from `offset` on
    offset: int
    asked: dict[str, float]
    container: str
    instance: str
    configuration: str


class News(TypedDict):
    """What the driver tells of a slot. `output` is in base64."""

    slot: str
    state: str
    reason: str
    report: NotRequired[dict[str, Any]]
    output: NotRequired[str]
    leaves_at_s: NotRequired[float | None]  # of LEAVING: as `Launched` has it


def namespace_of(deployment: str) -> str:
    """The namespace of a deployment's actors."""
    return f"torpor-{deployment}"


def actor_name(slot: Slot) -> str:
    """No name of an endpoint or a variant has a slash."""
    return f"{slot.endpoint}/{slot.variant}/{slot.number}/{slot.container}"


def slot_of(name: str) -> Slot | None:
    """The slot of an actor's name; None if it is no such name."""
    parts: Final = name.split("/")
    if len(parts) != 4 or not (parts[2].isdecimal() and parts[3].isdecimal()):
        return None
    return Slot(parts[0], parts[1], int(parts[2]), int(parts[3]))
