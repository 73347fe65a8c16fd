"""Which models still go to their former owner, because their new owner has yet to load them. It sends nothing.

A change of the ready instances gives some models another owner. The former owner may have such a model in memory, so
that its calls need not wait for a load. What happens to one model, and which instance serves its calls:

    event                                             the model is       its calls go to
    its first call since it has another owner         under way          the former owner
    the newcomer has loaded it                        settled            the newcomer
    the former owner has it in memory no longer       settled            the newcomer, which loads it for the call
    the newcomer could not load it                    as before a call   the former owner: the next call begins anew
    the newcomer leaves                               as before a call   its owner then
    the former owner leaves                           settled            its owner then

A process that begins to send to instances that ran already, as a router that starts, knows no former owners. So it
hears from each instance which models are in its memory, before it sends a call there. If a model's owner does not have
the model, one of the instances that have it is the former owner.

Three take part. Each router has its own handovers, and needs to agree with no other: two loads of a model at one
instance are one.

    placement            chooses the instance for a call, and announces each handover that begins
    a request's machine  asks a former owner to answer only if it has the model, and settles it if the answer is no
    the loader           asks former owners which of the models they have, has the newcomers load these and no others,
                         and settles each, or lets it begin anew after a pause

So a former owner never loads what it is about to lose, and a newcomer loads nothing that nobody called.
"""

from collections.abc import Callable, Iterable
from typing import Final, Generic, NamedTuple, TypeVar

HANDOVERS_MAX: Final = 1_024
"""The most models that are under way at a time. The calls for any more go to the new owner at once."""

AT_ONCE: Final = 4
"""So many models are loaded at one newcomer at a time: its other calls wait for no long line of loads."""

RETRY_S: Final = 10.0
"""A model that the newcomer could not load stays where it is so long, before its next call begins anew."""

FORGETS_EVERY: Final = 64
"""After so many changes, instances that are gone are no longer remembered as former owners or holders."""

T = TypeVar("T")


class Handover(NamedTuple, Generic[T]):
    """A model under way. `former` serves it until `newcomer` has loaded it, and if the newcomer `copies` it, both do
    from then on (`second_copies`)."""

    former: T
    newcomer: T
    copies: bool = False


Begun = Callable[[str, Handover[T]], None]
"""Hears of each handover that begins: the model, and from which instance to which."""


class Handovers(Generic[T]):
    """The handovers of one variant. `under_way` has them by model, and is always the same object."""

    def __init__(self, formers_max: int, begun: Begun[T]) -> None:
        self.under_way: dict[str, Handover[T]] = {}
        self._begun = begun
        self._formers_max = formers_max
        self._formers: dict[str, T] = {}  # by model: its owner before the last change that it had no call since
        self._holders: dict[str, tuple[T, ...]] = {}  # by model without a known owner: the instances that have it
        self._changes = 0

    def changed(self, owners: dict[str, T], is_ready: Callable[[T], bool]) -> None:
        """The ready instances are others now. `owners` has the instance that served each model until now."""
        self._changes += 1
        if len(owners) + len(self._formers) > self._formers_max:
            self._formers = dict(owners)
        else:
            self._formers.update(owners)
        if self._changes % FORGETS_EVERY == 0:
            self._formers = {model: one for model, one in self._formers.items() if is_ready(one)}
            kept = {model: tuple(filter(is_ready, found)) for model, found in self._holders.items()}
            self._holders = {model: found for model, found in kept.items() if found}
        gone = [model for model, one in self.under_way.items() if not (is_ready(one.former) and is_ready(one.newcomer))]
        for model in gone:
            del self.under_way[model]

    def found(self, models: Iterable[str], holder: T) -> None:
        """These models, which had no call here yet, were found in this instance's memory."""
        holders = self._holders
        for model in models:
            if model in holders or len(holders) < self._formers_max:
                holders[model] = (*holders.get(model, ()), holder)

    def server(self, model: str, owner: T, is_ready: Callable[[T], bool]) -> T:
        """The instance that serves a model whose owner is now `owner`: the former one if it is ready, else `owner`."""
        known = self.under_way.get(model)
        former = self._formers.pop(model, known and known.former)
        holders = self._holders.pop(model, ()) if self._holders else ()
        if (former is None or not is_ready(former)) and owner not in holders:
            former = next((one for one in holders if is_ready(one)), None)
        if former is None or former is owner or not is_ready(former):
            self.under_way.pop(model, None)
            return owner
        if known is None and len(self.under_way) >= HANDOVERS_MAX:
            return owner
        handover = Handover(former, owner)
        if known != handover:
            self.under_way[model] = handover
            self._begun(model, handover)
        return former

    def settle(self, model: str, newcomer: T) -> bool:
        """The model goes to this newcomer from now on. False, and nothing changes, if it is not under way to it."""
        handover = self.under_way.get(model)
        if handover is None or handover.newcomer is not newcomer:
            return False
        del self.under_way[model]
        return True

    def begin_anew(self, model: str, newcomer: T) -> bool:
        """The next call begins the handover once more. False, and nothing changes, if it is not under way to this
        newcomer."""
        handover = self.under_way.get(model)
        if handover is None or not self.settle(model, newcomer):
            return False
        self._formers[model] = handover.former
        return True


class DueLoads(Generic[T]):
    """The loads of one variant: a few at a time at each newcomer, the model that was called first before the others.

    A handover that is `awaited` no longer, because it is over or was begun anew, is not loaded for.
    """

    def __init__(self, awaited: Callable[[str, Handover[T]], bool]) -> None:
        self._awaited = awaited
        self._due: dict[T, dict[str, Handover[T]]] = {}  # by newcomer, and by model
        self._going_on: dict[T, int] = {}  # by newcomer: how many loads

    def add(self, model: str, handover: Handover[T]) -> None:
        self._due.setdefault(handover.newcomer, {})[model] = handover

    def next(self, newcomer: T) -> tuple[str, Handover[T]] | None:
        """The model that is to be loaded now at this newcomer, until `ended`; None if there is none."""
        due, going_on = self._due.get(newcomer), self._going_on.get(newcomer, 0)
        while due and going_on < AT_ONCE:
            model = next(iter(due))
            handover = due.pop(model)
            if self._awaited(model, handover):
                self._going_on[newcomer] = going_on + 1
                return model, handover
        if not due:
            self._due.pop(newcomer, None)
        return None

    def ended(self, newcomer: T) -> None:
        """A load at this newcomer is over."""
        self._going_on[newcomer] -= 1
        if not self._going_on[newcomer]:
            del self._going_on[newcomer]
