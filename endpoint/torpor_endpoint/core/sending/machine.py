"""One request on its way to an instance and through its containers, as a machine without I/O and without a clock.

The sender of a request drives it: the machine says what to do next, and the sender tells what came of it.

    event        what happened                                        what follows
    ready        it is time to look for an instance                   SEND, or HOLD while there is none
    answered     a container gave a whole answer                      SEND to the next container, or END
    refused      the connection took nothing of the request           as `ready`: another instance may read it
    broken       the container may have acted on it, and said nothing END; of a patient request, all of it once more
    timed_out    no whole answer came in time                         END; of a patient request, all of it once more

    instruction  what to do
    SEND         send `headers` and `body` to `container` of `instance`, within `timeout_s`
    HOLD         send nothing for `pause_s`, and until an instance may be ready; then tell `ready`
    END          `answer` is the request's answer, or `failure` says why there is none

In an inference pipeline the answer of one container is the body of the next: its chunks are handed on as they are. AWS:
"SageMaker handles invocations as a sequence of HTTP requests." In a direct variant a request names its one container. A
variant of one container is the case of one leg, and has no trail.

The first container of several gets the caller's headers without `Accept`; the last one gets the caller's `Accept`; each
later one gets `Content-Type` and the custom attributes of the answer before it, and the caller's attributes where that
has none. TargetModel is for the containers that serve many models.

An instance that is to lose a model to a newcomer (`core.routing.handing_over`), or that may have lost its copy of one
(`core.routing.second_copies`), is asked to answer only if it has the model in memory. If it has not, another instance
gets the leg, and loads the model: a request is turned away once at most. Of several containers, the one with many
models is asked: the containers before it have answered, and are not called again.

The machine keeps the books: the requests that an instance has (from SEND until `let_go`, and over all legs), suspects,
sessions, which instances lacked memory for a model, and the seconds and steps of each container. It changes nothing
else.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final, Generic, Literal, NamedTuple, Protocol, TypeVar

from torpor_account.core.outages.error_owners import ErrorOwner, of_fault
from torpor_account.core.outages.waiting import pause_s
from torpor_container import wire
from torpor_container.core.target_names import LOST
from torpor_container.wire import Fault
from torpor_endpoint.core.routing.session_names import without_holder
from torpor_endpoint.core.sending.session_holders import Instance, SessionPool, holder_in, note_session
from torpor_endpoint.core.sending.trail import Headers, PartAnswer, Trail, lacked_room

Asking = TypeVar("Asking", contravariant=True)
Body = list[bytes]
Instruction = Literal["send", "hold", "end"]
SEND: Final = "send"
HOLD: Final = "hold"
END: Final = "end"

ACCEPT = b"accept"
CONTENT_TYPE = b"content-type"
CUSTOM_ATTRIBUTES = wire.CUSTOM_ATTRIBUTES.lower().encode()
FAULT = b"x-torpor-fault"
SESSION_ID = wire.SESSION_ID.lower().encode()
TARGET_MODEL = wire.TARGET_MODEL.lower().encode()
PASSED_ON = frozenset(name.lower().encode() for name in (*wire.FORWARDED, wire.ADAPTER, wire.ADAPTER_URL))
"""No caller's request has the last two: `adapter_headers` adds them."""
WITHOUT_ACCEPT = frozenset({ACCEPT})
CARRIED = (CONTENT_TYPE, CUSTOM_ATTRIBUTES)
"""The headers of an answer that the next container gets in place of the caller's."""
MODEL_CACHE = wire.MODEL_CACHE.lower().encode()
ONLY_LOADED = (MODEL_CACHE, wire.MODEL_CACHE_ONLY.encode())
ABSENT = Fault.ABSENT.value.encode()
VERSION_WANTED = (wire.ARTIFACT_VERSION.lower().encode(), wire.ARTIFACT_VERSION_WANTED.encode())
STRICT_HOP_BYTES = 5 * 1024 * 1024
"""AWS's largest body between two containers. Otherwise each container has its own limit for bodies."""
HOP_OVERSIZE = (
    "Received response from {container} with status code {status}. However, the request payload from {container} to "
    "{following} is {size} bytes, which has exceeded the maximum limit of 5 MB."
)
BUSY = 429
"""A model that is still being loaded."""


class SendingFailure(StrEnum):
    """Why a request has no answer."""

    BROKEN = "broken"
    TIMED_OUT = "timed out"
    HOP_OVERSIZE = "hop oversize"  # under AWS's limits, an answer is too large for the container after it


class SendingRules(NamedTuple):
    """What differs between requests.

    `strict`: AWS's limit between two containers holds. `patient`: a failed request is sent again from its first
    container, `retries` times for one that broke, timed out or got 5xx or 429, and without end while a machine fails.
    `needs_room`: a request waits for an instance with room, and is never one too many.
    """

    strict: bool = False
    patient: bool = False
    retries: int = 0
    needs_room: bool = False


class SendingContainer(Protocol):
    """A container of the variant."""

    @property
    def name(self) -> str: ...

    @property
    def multi_model(self) -> bool: ...


class NeighbourNames(Protocol[Asking]):
    """Who may have a model's artifact, in a variant whose instances share artifacts."""

    def first_call(self, model: str, instance: Asking, /) -> tuple[bytes, bytes] | None:
        """The header by which the instance hears of them, if this is the first call of the model that it gets."""


class SendingPool(SessionPool[Instance], Protocol[Instance]):
    """The instances of one variant, as the machine sees and tells them. `neighbours`: None where they share none."""

    @property
    def neighbours(self) -> NeighbourNames[Instance] | None: ...

    def released(self, instance: Instance, /) -> None:
        """Count one request of this instance as answered."""

    def suspect(self, instance: Instance, /) -> None:
        """A connection to it broke, or was refused."""

    def goes_on(self, instance: Instance, container: int, /) -> bool:
        """Whether an instance that is in use can do one more leg, perhaps while it drains."""

    def lacked_room(self, instance: Instance, container: int, /) -> None:
        """Others may have memory for this container."""


class TraceCarrier(Protocol):
    """The request's place in a distributed trace, as far as containers get to know it (`telemetry.trace_context`)."""

    def headers(self, step: int) -> Headers:
        """The headers of the trace for the container at this place of the path."""

    def copy(self) -> "TraceCarrier":
        """The place of a copy for a shadow variant."""


class Sending(Generic[Instance]):
    """The machine. It asks `pool` for instances, and changes nothing but its books and its own fields.

    Read `container`, `headers`, `body` and `timeout_s` for what is to be sent to `instance`; `pause_s` for how long to
    hold at least; `answer`, `failure` and `took_s` (seconds to the last answer, of several containers their sum) for
    how it ended. `trail` is None for a variant of one container. While it is `resendable`, the caller's body is needed
    until the answer: that may be that another instance gets the leg.
    """

    __slots__ = (
        "_asks", "_given", "_in_use", "_key", "_limits_s", "_margin_s", "_path", "_plain", "_pool", "_retries",
        "_rules", "_sent", "_sent_at_s", "_target", "_trace", "_turned_away", "_waits", "_wants_version", "answer",
        "body", "container", "containers", "failure", "headers", "instance", "pause_s", "requests", "resendable",
        "step", "timeout_s", "took_s", "trail",
    )  # fmt: skip

    container: int
    step: int  # the container's place in the path
    headers: Headers
    _plain: Headers  # of the leg, whichever instance gets it
    body: Body
    timeout_s: float
    pause_s: float  # from the first `ready`
    took_s: float  # from the first answer
    requests: int  # of the instance when it got this one, which is among them
    _sent_at_s: float

    def __init__(
        self,
        pool: SendingPool[Instance],
        containers: Sequence[SendingContainer],
        path: tuple[int, ...],
        limits_s: Sequence[float],
        margin_s: float,
        given: Mapping[bytes, bytes],
        target: str | None,
        key: str | None,
        body: Body,
        rules: SendingRules,
        trail: Trail | None,
        wants_version: bool = False,
        trace: TraceCarrier | None = None,
        first: Headers | None = None,
    ) -> None:
        """`path` has the places of the containers that the request passes, in their order. Each of them has `limits_s`
        seconds, and `margin_s` more. `given` are the caller's headers. Requests of one `key`, a model or an adapter,
        meet at one instance. The body stays the caller's, who may empty it once it is sent. A variant of one container
        has no trail. `first`: what the first container gets, as the machine of a like request had it in `headers`."""
        self.containers = containers
        self.trail = trail
        self.instance: Instance | None = None
        self.answer: PartAnswer | None = None
        self.failure: SendingFailure | None = None
        self._in_use = False  # the instance has the request
        self._asks = False  # the instance is to answer only if it has the model
        self._turned_away = False  # one that was asked had it not
        self.resendable = False
        self._retries = self._waits = 0
        self._pool, self._path, self._limits_s, self._margin_s = pool, path, limits_s, margin_s
        self._given, self._target, self._key, self._sent = given, target, key, body
        self._rules, self._wants_version, self._trace = rules, wants_version, trace
        if first is None:
            self._leg(0, None)
        else:
            self.step, self.container, self.body = 0, path[0], body
            self.headers = self._plain = first
            self.timeout_s = limits_s[path[0]] + margin_s

    @property
    def acted(self) -> bool:
        """Whether a container has answered already, and another one follows."""
        return self.step > 0

    @property
    def place(self) -> str:
        """The name of the container that the request is at."""
        return self.containers[self.container].name

    @property
    def following(self) -> str:
        """The name of the container after it."""
        return self.containers[self._path[self.step + 1]].name

    # -- events ----------------------------------------------------------------------------------------------------
    def ready(self, now_s: float) -> Instruction:
        self.pause_s = 0.0
        instance = self._choice()
        if instance is None:
            return HOLD
        if not self._in_use or instance is not self.instance:
            if self._in_use:
                self.let_go()
            key, self._asks = self._key, False
            if key is not None and (key in self._pool.ready.moving or key in self._pool.ready.copied):
                self._asks = not self._turned_away and self._pool.ready.asks(key, instance)
            self.instance, self._in_use = instance, True
            instance.took()
            self.requests = instance.in_flight
        if self._asks or self.resendable or self._pool.neighbours is not None:
            self._say_to(instance)
        self._sent_at_s = now_s
        return SEND

    def answered(self, answer: PartAnswer, now_s: float) -> Instruction:
        if self.resendable and answer.header(FAULT) == ABSENT:
            return self._to_another(now_s)
        well, last = 200 <= answer.status < 300, self.step == len(self._path) - 1
        took_s = now_s - self._sent_at_s
        if SESSION_ID in self._given and self.instance is not None:
            note_session(self._pool, self._target, self.instance, answer)
        if self.trail is None:
            self.took_s = took_s
        else:
            if self.instance is not None and lacked_room(answer):
                self._pool.lacked_room(self.instance, self.container)
            self.trail.answered(self.place, answer, took_s, last=last or not well)
            self.took_s = sum(self.trail.seconds.values())
        if not well and self._rules.patient:
            return self._refusal(answer, now_s)
        if last or not well:
            self.answer, self.body = answer, []
            return END
        if self._rules.strict and sum(map(len, answer.chunks)) > STRICT_HOP_BYTES:
            return self._end(answer, SendingFailure.HOP_OVERSIZE)
        self._leg(self.step + 1, answer)
        return self.ready(now_s)

    def refused(self, now_s: float) -> Instruction:
        self._suspect()
        return self.ready(now_s)

    def broken(self, now_s: float) -> Instruction:
        self._suspect()
        return self._failed(SendingFailure.BROKEN, now_s)

    def timed_out(self, now_s: float) -> Instruction:
        return self._failed(SendingFailure.TIMED_OUT, now_s)

    def let_go(self) -> None:
        """Nothing is sent to the instance any more. The driver of the machine calls this at the end, however it ends;
        a second call does nothing."""
        if self._in_use and self.instance is not None:
            self._in_use = False
            self._pool.released(self.instance)

    # -- choice ----------------------------------------------------------------------------------------------------
    def _choice(self) -> Instance | None:
        """The instance that did the legs before; the one that holds the request's session; or the one that placement
        ranks first."""
        pool, ready = self._pool, self._pool.ready
        if self.step and self._in_use and self.instance is not None and pool.goes_on(self.instance, self.container):
            return self.instance
        if not ready.count or (self._rules.needs_room and not ready.has_room):
            return None
        if SESSION_ID in self._given and (holder := holder_in(pool, self._target, self._given[SESSION_ID])) is not None:
            return holder
        return ready.pick(self._key) if self._key is not None else ready.least_busy()

    def _suspect(self) -> None:
        """An instance that did earlier legs stays in use: it may be well again before another one is there."""
        if self.instance is not None:
            self._pool.suspect(self.instance)
        if not self.step:
            self.let_go()

    # -- models that may be elsewhere ------------------------------------------------------------------------------
    def _say_to(self, instance: Instance) -> None:
        """Add to the headers what this instance alone gets with the leg, if that is for its many models: one that may
        not have the model is to answer only if it has it in memory, and an instance that has yet to fetch the artifact
        gets the names of those that have it."""
        self.headers, self.resendable = self._plain, False
        if self._target is not None and not self.containers[self.container].multi_model:
            return  # without a target, what may be elsewhere is an adapter of the only model
        if self._asks:
            self.resendable = True
            self.headers = [*self.headers, ONLY_LOADED]
        if (names := self._pool.neighbours) is not None and self._target is not None:
            named = names.first_call(self._target, instance)
            if named is not None:
                self.headers = [*self.headers, named]

    def _to_another(self, now_s: float) -> Instruction:
        """The instance has not the model. Another one gets this leg and those after it. Somebody else may have noted it
        while the request was at a container before."""
        self._turned_away = True
        if self._key is not None and self.instance is not None:
            self._pool.ready.lacks(self._key, self.instance)
        self.let_go()
        return self.ready(now_s)

    # -- tries -----------------------------------------------------------------------------------------------------
    def _refusal(self, answer: PartAnswer, now_s: float) -> Instruction:
        """A patient request has got an answer that is no success."""
        fault = answer.header(FAULT)
        if fault is not None and of_fault(Fault(fault.decode())) is ErrorOwner.MACHINE:
            self._waits += 1
            self.pause_s = pause_s(self._waits)
            self._begin_anew()
            return HOLD
        if (answer.status >= 500 or answer.status == BUSY) and self._retries < self._rules.retries:
            return self._again(now_s)
        return self._end(answer, None)

    def _failed(self, failure: SendingFailure, now_s: float) -> Instruction:
        if self._rules.patient and self._retries < self._rules.retries:
            return self._again(now_s)
        return self._end(None, failure)

    def _again(self, now_s: float) -> Instruction:
        self._retries += 1
        self._begin_anew()
        return self.ready(now_s)

    def _begin_anew(self) -> None:
        self.let_go()
        if self.trail is not None:
            self.trail.begin_anew()
        self._leg(0, None)

    def _end(self, answer: PartAnswer | None, failure: SendingFailure | None) -> Instruction:
        self.answer, self.failure, self.body = answer, failure, []
        return END

    # -- legs ------------------------------------------------------------------------------------------------------
    def _leg(self, step: int, before: PartAnswer | None) -> None:
        """What the container at this place of the path gets. `before` is the answer of the one before it."""
        path, given = self._path, self._given
        self.step, self.container, self.resendable = step, path[step], False
        carried = {} if before is None else {name: value for name, value in before.headers if name in CARRIED}
        passed_on = PASSED_ON if before is None else PASSED_ON - {CONTENT_TYPE, *carried}
        if step < len(path) - 1:
            passed_on -= WITHOUT_ACCEPT
        self.headers = self._plain = headers = [one for one in given.items() if one[0] in passed_on]
        if SESSION_ID in given:
            headers[:] = [(one, without_holder(text)[0] if one == SESSION_ID else text) for one, text in headers]
        if self._target is not None and self.containers[self.container].multi_model:
            target = self._target
            headers.append((TARGET_MODEL, (f"/{target}" if target[0] in LOST else target).encode()))  # `spelling_of`
        headers += carried.items()
        if self._wants_version and self.container == self._versioned():
            headers.append(VERSION_WANTED)
        if self._trace is not None:
            headers += self._trace.headers(step)
        self.body = self._sent if before is None else before.chunks
        self.timeout_s = self._limits_s[self.container] + self._margin_s

    def _versioned(self) -> int:
        """The container whose model's version is the request's: the one that serves many models, or else the last."""
        return next((place for place in self._path if self.containers[place].multi_model), self._path[-1])
