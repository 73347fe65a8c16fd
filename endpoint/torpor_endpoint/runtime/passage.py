"""The record of one InvokeEndpoint request on its way through the endpoint. Each step of its life reads and fills it.

The steps, in their order, and the module of each:

    parse     the headers, checked once                             request
    route     the variant, and the target model                     router
    admit     throttle, or refuse for lack of capacity              router
    hold      wait until an instance is ready                       holding
    send      to one instance, and to another if it never arrived   sending, which drives core.sending
    answer    status, headers and body for the caller               passage_end
    account   observers see the request and its answer              passage_end

`app` drives them in two ways: a coroutine that may wait, and a call that never waits and hands the request to the
coroutine if one step would have to. Both take the same steps.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from torpor_account.aws.wire.asgi import Headers, Scope
from torpor_container.frozen_class import frozen
from torpor_container.settings import DEFAULTS
from torpor_container.transport.upstream import ANSWER_MAX_BYTES
from torpor_container.transport.upstream_answers import Body, UpstreamAnswer
from torpor_endpoint.core.model_choice.choosing_model import ModelChoice
from torpor_endpoint.core.sending.machine import Sending, TraceCarrier
from torpor_endpoint.core.sending.trail import OVERHEAD, Trail, steps_of
from torpor_endpoint.host.launch import SERVERLESS_BODY_MAX_BYTES
from torpor_endpoint.in_service.incarnation import Incarnation
from torpor_endpoint.in_service.pool import VariantPool
from torpor_endpoint.in_service.served_endpoints import ServedEndpoint
from torpor_endpoint.runtime.errors import ErrorPlace, RuntimeFault
from torpor_endpoint.runtime.kept_parts import KEPT, KeptLimits
from torpor_endpoint.runtime.request import Invoke

if TYPE_CHECKING:
    from torpor_endpoint.runtime.observing.observers import BodyObserver

PAYLOAD = "payload"
"""The scope's type of a batch transform's payload, which no HTTP request brings."""


@frozen
class CallLimits:
    """The bounds of one call, in bytes and seconds.

    `attempt_margin_s` is added to what the variant's own settings allow: an instance keeps its time limits and says so,
    and the margin is for an instance that says nothing. `kept` bounds what is kept of streams for observers.
    """

    body_bytes: int = DEFAULTS.body_max_bytes
    serverless_body_bytes: int = SERVERLESS_BODY_MAX_BYTES
    answer_bytes: int = ANSWER_MAX_BYTES
    hold_s: float = 60.0
    attempt_margin_s: float = 5.0
    kept: KeptLimits = KEPT
    stream_s: float = 480.0  # from sending to the last part of a stream (AWS, 8 minutes: not confirmed)


def new_request_id() -> str:
    """A UUID, version 4. It names a request and keeps no secret: Python's own generator will do, and asks no system."""
    number = random.getrandbits(128) & ~(0xF000 << 64 | 0xC000 << 48) | (0x4000 << 64 | 0x8000 << 48)
    digits = f"{number:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


ONLY = (0,)
"""The path through an instance of one container."""


class Route(NamedTuple):
    """Where a request goes: decided before its body is sent anywhere."""

    live: ServedEndpoint
    variant: str
    pool: VariantPool
    target: str | None
    """The target model's one name: see `torpor_container.core.target_names`."""
    path: tuple[int, ...] = ONLY
    """The places of the containers that the request passes, in their order."""
    asked: str | None = None
    """The target as the caller names it, if that is a model with versions: `target` is the version that answers. Where
    the caller names a group, the model that was chosen."""
    choice: ModelChoice | None = None
    """Why this model answers a caller who names a group."""
    adapter: str = ""
    """The inference component that the caller names, if that is an adapter: the copies of its base answer."""


class KnownWay:
    """Where all requests with the same path and headers go, as long as their endpoint has the same `pools`. It is found
    out once: the route, the observers that may read their bodies, and what their first container gets, as `headers` and
    as their lines in `head`."""

    __slots__ = ("head", "headers", "pools", "readers", "route")

    def __init__(self, route: Route) -> None:
        self.route = route
        self.pools = route.live.pools
        self.readers: Sequence[BodyObserver] | None = None
        self.headers: Headers | None = None
        self.head = b""


@dataclass(slots=True)
class Served:
    """An instance's answer, and what the observers need to know of the instance and its variant at that time."""

    answer: UpstreamAnswer
    instance: str
    instances: int  # ready ones of the variant
    in_flight: int  # requests of the variant when this one came, itself included
    sent_s: float  # seconds from sending to the whole answer; of several containers, their sum
    requests: int = 1  # of the instance when this one was sent to it, itself included


class StreamFacts(NamedTuple):
    """What the observers need to know of a stream beside its answer."""

    first_s: float  # seconds from the request's beginning to its first part
    first_model_s: float  # seconds from sending to the first part
    failed: bool = False  # after the first part
    left: bool = False  # the caller left before the last part
    cut: bool = False  # observers read fewer parts than were sent


@dataclass(slots=True)
class InvokeAnswer:
    """What the caller gets."""

    status: int
    headers: Headers
    chunks: Body


@dataclass(slots=True)
class Passage:
    """One request. It begins when the request's head is there. Seconds are of the steady clock, but for `at_s`.

    The passage owns the request's body until it is released: nobody else empties it.
    """

    scope: Scope
    home: ErrorPlace
    """The place of all requests to this endpoint, and once it is known the container's."""
    limits: CallLimits
    at_s: float  # epoch seconds
    began_s: float
    body: Body = field(default_factory=list)
    request_bytes: int = 0
    request: Invoke | None = None
    route: Route | None = None
    way: KnownWay | None = None
    """That of the route, if it goes for all requests with these headers."""
    steps: dict[str, float] = field(default_factory=dict)
    """Seconds by step. Once the passage has ended, they add up to `total_s`."""
    outcome: Served | RuntimeFault | None = None
    """None for a request that was refused before it had a variant."""
    trail: Trail | None = None
    """Of a request to a variant whose instances have several containers."""
    sending: "Sending[Incarnation] | None" = None
    """While the request is on its way to an instance."""
    stream: StreamFacts | None = None
    """Of a request whose answer was streamed."""
    status: int = 0
    response_bytes: int = 0
    total_s: float = 0.0
    readers: "Sequence[BodyObserver] | None" = None
    """The observers that read the bodies; None until `Observers.reads_bodies` decides it, once for each request."""
    wants_version: bool = False
    """Whether one of them wants to know which version of its artifact the model is: the instance is asked for it."""
    chooses: bool = False
    """Whether a model may be chosen by need: for a call of InvokeEndpoint that may wait."""
    trace: TraceCarrier | None = None
    """None without telemetry."""
    request_id: str = field(default_factory=new_request_id)

    @property
    def place(self) -> ErrorPlace:
        """For the texts of errors."""
        return self.home._replace(request_id=self.request_id)

    @property
    def ended_at_s(self) -> float:
        """Epoch seconds."""
        return self.at_s + self.total_s

    @property
    def container_s(self) -> dict[str, float] | None:
        """Seconds in each container that the request passed, in their order; None for a variant of one container."""
        return None if self.trail is None else self.trail.seconds

    def waited(self, step: str, took_s: float) -> None:
        self.steps[step] = self.steps.get(step, 0.0) + took_s

    def measured(self, answer: UpstreamAnswer) -> None:
        """Take the steps of an instance's last answer. Those of the containers before it are there."""
        steps = steps_of(answer)
        if self.trail is None:
            self.steps |= steps
        else:
            self.trail.steps.append(steps)
            for step, took_s in steps.items():
                self.waited(step, took_s)

    def end(self, status: int, response_bytes: int, total_s: float) -> None:
        """What no step explains is overhead: the steps add up to the wall time."""
        self.status, self.response_bytes, self.total_s = status, response_bytes, total_s
        rest_s = total_s
        for took_s in self.steps.values():
            rest_s -= took_s
        self.steps[OVERHEAD] = rest_s if rest_s > 0.0 else 0.0


def parsed(passage: Passage) -> Invoke:
    assert passage.request is not None, "the step parse comes first"
    return passage.request


def routed(passage: Passage) -> Route:
    assert passage.route is not None, "the step route comes first"
    return passage.route


Step = Callable[[Passage], None]
"""A step that waits for nothing. It raises RuntimeFault to refuse the request."""


def server_timing(steps: dict[str, float]) -> bytes:
    """The value of the Server-Timing header that the caller reads, in milliseconds."""
    text = ""
    for step, took_s in steps.items():
        text += f", {step};dur={took_s * 1000:.3f}"
    return text[2:].encode()
