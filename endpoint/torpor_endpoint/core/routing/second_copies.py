"""Which models get one more copy because their owner is busy, and which instance serves them until it is loaded. It
sends nothing.

Placement finds an instance with room for a call whose owner has none. What happens to the model and to the call:

    placement finds                                   the model gets     the call goes to
    an instance that has a copy                       nothing            that copy
    another one                                       a copy there       the copy with the fewest requests, the owner's
                                                                         among them: it is warm
    another one, and a copy is on its way             nothing            likewise
    another one, whose load is the shorter wait       nothing            that one, which loads the model for the call
    another one, and each copy has `most` requests    nothing            likewise
    another one, and too many copies are on their way nothing            likewise

So a call waits at the warm copy, and seldom for a load. The fourth line is for the copy whose line is too long: see
`is_load_quicker`.

Nobody tells which models an instance evicts. So an instance that may have lost a model is asked to answer only if it
has it: each copy but the owner's, and a busy owner while a copy is on its way. If the answer is no, `lacks` notes it,
the call goes where placement sends it then, and that one loads the model if it has to. Each router has its own copies,
and needs to agree with no other: two loads of a model at one instance are one.
"""

from collections.abc import Callable, Container
from typing import Final, Generic, Protocol, TypeVar

from torpor_endpoint.core.routing.handing_over import Begun, Handover

COPIED_MAX: Final = 1_024
"""The most models of which second copies are known. For one more, those are forgotten of which no copy is on its way;
if there are none, calls of its busy owner go to an instance with room at once."""


class InLine(Protocol):
    """An instance. `in_flight` counts the requests that it has not answered."""

    in_flight: int


T = TypeVar("T", bound=InLine)

Quicker = Callable[[str, T], bool]
"""Whether one more request for this model is answered sooner where it waits for a load than at this instance."""


def is_load_quicker(in_flight: int, pace_s: float | None, load_s: float | None) -> bool:
    """Whether a request waits longer behind `in_flight` others, of which one is answered each `pace_s` seconds, than
    for a load of `load_s` seconds. The whole load counts, though some of it may be over. What nobody has measured yet
    is no reason to leave a warm copy."""
    return pace_s is not None and load_s is not None and in_flight * pace_s > load_s


class CopiedModel(Generic[T]):
    """A model whose owner was busy. The instances in `here` have a copy too, as far as is known; `coming` is to bring
    one more."""

    __slots__ = ("coming", "here", "owner")

    def __init__(self, owner: T) -> None:
        self.owner = owner
        self.here: tuple[T, ...] = ()
        self.coming: Handover[T] | None = None


class SecondCopies(Generic[T]):
    """The copies of one variant, beside those of the owners. `known` has them by model, and is always the same object.

    `begun` hears of each load that is to begin.
    """

    def __init__(self, begun: Begun[T], quicker: Quicker[T]) -> None:
        self.known: dict[str, CopiedModel[T]] = {}
        self._begun = begun
        self._quicker = quicker

    def changed(self) -> None:
        """The ready instances are others now: each model's next copy is found anew."""
        self.known.clear()

    def server(
        self, model: str, owner: T, with_room: T, most: int, begins: bool, allowed: Container[T] | None = None
    ) -> T:
        """The instance that serves a call for the model whose `owner` is busy. Each instance may have `most` requests.
        A copy is on its way then, if the call `begins` one. With `allowed`, among which are the owner and the one with
        room, no other instance may serve the call."""
        copied = self.known.get(model)
        warm = owner
        for one in () if copied is None else copied.here:
            if one is with_room:
                return one
            if one.in_flight < warm.in_flight and (allowed is None or one in allowed):
                warm = one
        if warm.in_flight >= most or self._quicker(model, warm):
            return with_room
        if not begins:
            return warm
        if copied is None:
            if not self._has_room():
                return with_room
            copied = self.known[model] = CopiedModel(owner)
        if copied.coming is None:
            copied.coming = Handover(warm, with_room, copies=True)
            self._begun(model, copied.coming)
        return warm

    def _has_room(self) -> bool:
        """Whether one more model may be copied. Models of which no copy is on its way are forgotten for it."""
        if len(self.known) >= COPIED_MAX:
            for model in [model for model, copied in self.known.items() if copied.coming is None]:
                del self.known[model]
        return len(self.known) < COPIED_MAX

    def asks(self, model: str, instance: T, is_busy: bool) -> bool:
        """Whether this instance is to answer a call for the model only if it has it in memory. An owner that is not
        busy gets the call in any case."""
        copied = self.known.get(model)
        if copied is None:
            return False
        return instance in copied.here or (is_busy and copied.coming is not None and instance is copied.owner)

    def lacks(self, model: str, instance: T) -> None:
        """An instance that was asked has not the model. If it was the owner, the copy that is coming counts from now:
        the first call that goes there waits for its load, or leads it. If it was another one, what is known of all
        copies is old: the owner has the call, and each copy is found anew."""
        copied = self.known.get(model)
        if copied is None:
            return
        if instance in copied.here:
            copied.here = ()
        elif instance is copied.owner and copied.coming is not None:
            self.settle(model, copied.coming.newcomer)

    def is_awaited(self, model: str, handover: Handover[T]) -> bool:
        """Whether this copy is still to be loaded."""
        copied = self.known.get(model)
        return copied is not None and copied.coming is handover

    def settle(self, model: str, newcomer: T) -> bool:
        """The newcomer has a copy now. False, and nothing changes, if none is on its way to it."""
        copied = self.known.get(model)
        if copied is None or not self.give_up(model, newcomer):
            return False
        copied.here = (*copied.here, newcomer)
        return True

    def give_up(self, model: str, newcomer: T) -> bool:
        """The newcomer could not load its copy: a later call may begin one more. False, and nothing changes, if none is
        on its way to it."""
        copied = self.known.get(model)
        if copied is None or copied.coming is None or copied.coming.newcomer is not newcomer:
            return False
        copied.coming = None
        return True
