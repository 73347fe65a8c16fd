"""Chooses the instance for a model's request: the first of the model's order (`ready_slots`) that is not too busy.

It sends nothing. A model's requests keep going to the instance that has it, a restarted slot gets its own models back,
and no table is needed. AWS describes the same behaviour: "SageMaker continues to route requests for a model to the
instance where the model is already loaded" and, for a hot model, "some requests are routed to another instance". The
bound is that of consistent hashing with bounded loads (Mirrokni, Thorup, Zadimoghaddam, 2016).
"""

from collections.abc import Iterable, Iterator, Mapping, Set
from math import ceil
from typing import Final, Generic, TypeVar

from torpor_endpoint.core.routing.handing_over import Begun, Handover, Handovers
from torpor_endpoint.core.routing.ready_slots import FleetLoad, PlacedInstance, ReadySlots
from torpor_endpoint.core.routing.second_copies import CopiedModel, Quicker, SecondCopies

SHARE: Final = 1.25
"""An instance may have this much more than the average load before a model gets a second copy."""

BUSY_MIN: Final = 8
"""With fewer requests in flight an instance is never too busy for its own models: a copy costs a cold start."""

UNBOUNDED: Final = 2**31
"""The most requests that an instance may have, where nothing bounds them."""

OWNERS_MAX: Final = 16_384
"""The most models whose owner is remembered, unless a caller has room for more. Another search takes microseconds."""

T = TypeVar("T", bound=PlacedInstance)


class Placement(Generic[T]):
    """The ready instances of one variant, by slot number. `count` is how many there are.

    An instance gets at most `most` requests at a time, while another one has room. A router that is one of several
    counts its own requests alone: its `busy_min` is its share of BUSY_MIN.

    With `hands_over` a model that gets another owner stays with its former one, while that is ready, until `arrived`
    tells that the new owner has it (`routing.handing_over`). Calls for a model whose owner is busy stay with its warm
    copy, until `arrived` tells that one more is loaded, unless that is `quicker` (`routing.second_copies`).
    `hands_over` hears of each model that is to be loaded. The models under way are in `moving`, and those with copies
    in `copied`: before such a call is served, its sender finds out whether the instance has the model in memory, if
    placement `asks` it, and calls `lacks` if it has not.
    """

    def __init__(
        self,
        most: int = UNBOUNDED,
        *,
        busy_min: int = BUSY_MIN,
        owners_max: int = OWNERS_MAX,
        hands_over: Begun[T] | None = None,
        quicker: Quicker[T] | None = None,
    ) -> None:
        self.most = most
        self._owners_max = owners_max
        self.busy_min = busy_min
        self.count = 0
        self._fleet = FleetLoad()
        self._slots = ReadySlots[T]()
        self.get, self.first, self.least_busy = self._slots.get, self._slots.first, self._slots.least_busy
        self._owners: dict[str, T] = {}  # by model
        self._handovers: Handovers[T] | None = None if hands_over is None else Handovers(owners_max, hands_over)
        self.moving: Mapping[str, Handover[T]] = {} if self._handovers is None else self._handovers.under_way
        self._copies: SecondCopies[T] | None = None
        if hands_over is not None:
            self._copies = SecondCopies(hands_over, quicker or never_quicker)
        self.copied: Mapping[str, CopiedModel[T]] = {} if self._copies is None else self._copies.known

    def offer(self, number: int, instance: T) -> None:
        """Place requests on this slot's instance from now on. Raises ValueError for a number that is out of range."""
        self.withdraw(number)
        self._slots.put(number, instance)
        instance.fleet = self._fleet
        self._fleet.in_flight += instance.in_flight
        self._changed()

    def withdraw(self, number: int) -> T | None:
        """Place no more requests on the slot's instance, and return it; None if the slot had none."""
        instance = self._slots.take(number)
        if instance is not None:
            instance.fleet = FleetLoad()
            self._fleet.in_flight -= instance.in_flight
            self._changed()
        return instance

    def _changed(self) -> None:
        self.count = len(self._slots.all)
        if self._handovers is not None:
            self._handovers.changed(self._owners, self._is_ready)
        if self._copies is not None:
            self._copies.changed()
        self._owners.clear()

    def pick(self, model: str, *, begins: bool = True) -> T:
        """The instance for one more request for this model, which `begins` the load of one more copy if its owner is
        busy. At least one instance must be ready."""
        owner = self._owners.get(model)
        if owner is None:
            owner = self._owner(model)
        if owner.in_flight < self.busy_min and owner.in_flight < self.most:
            return owner
        bound = self.bound(self._fleet.in_flight)
        if self._keeps(model, owner, bound) or (found := self._slots.with_room(model, bound)) is None:
            return owner
        return found if self._copies is None else self._copies.server(model, owner, found, self.most, begins)

    def _keeps(self, model: str, owner: T, bound: int) -> bool:
        """Whether the owner serves the call in any case. A former one has the model, and the next one in the order is
        the newcomer, which loads it."""
        return owner.in_flight < bound or (owner.in_flight < self.most and model in self.moving)

    def pick_among(self, model: str, allowed: Set[T]) -> T:
        """As `pick`, of some instances alone: nothing begins at another one. At least one of them must be ready."""
        ready = sum([one in allowed for one in self._slots.all])
        if not ready:
            raise ValueError("none of the allowed instances is ready")
        if ready == self.count:
            return self.pick(model)
        bound = self.bound(self._fleet.in_flight)
        found, has_room = self._slots.first_among(model, allowed, bound)
        owner = self._owners.get(model) or (self._owner(model) if self._slots.owner(model) in allowed else None)
        if owner is None or owner not in allowed:
            return found
        if not has_room or self._keeps(model, owner, bound):
            return owner
        return found if self._copies is None else self._copies.server(model, owner, found, self.most, True, allowed)

    @property
    def in_flight(self) -> int:
        """The requests in flight at all ready instances."""
        return self._fleet.in_flight

    def bound(self, in_flight: int) -> int:
        """With so many requests at an instance it is too busy for its own models, while all have `in_flight`."""
        fair = ceil(SHARE * (in_flight + 1) / self.count)
        return min(max(self.busy_min, fair), self.most)

    @property
    def has_room(self) -> bool:
        """Whether an instance has fewer requests than it may have."""
        if self._fleet.in_flight < self.most * self.count:
            return True
        return any(one.in_flight < self.most for one in self._slots.all)

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[T]:
        """The instances that are ready now. The set may change during the iteration."""
        return iter(tuple(self._slots.all))

    # -- handovers and copies --------------------------------------------------------------------------------------
    def found(self, models: Iterable[str], holder: T) -> None:
        """An instance that ran already has these models in memory. It is offered next."""
        if self._handovers is not None:
            self._handovers.found([model for model in models if model not in self._owners], holder)

    def asks(self, model: str, instance: T) -> bool:
        """Whether this instance is to answer one more call for the model only if it has it in memory: a former owner,
        or one that may have lost a copy."""
        if (handover := self.moving.get(model)) is not None and handover.former is instance:
            return True
        is_busy = self.bound(self._fleet.in_flight) <= instance.in_flight < self.most
        return self._copies is not None and self._copies.asks(model, instance, is_busy)

    def lacks(self, model: str, instance: T) -> None:
        """An instance that was asked has not the model in memory. It goes to the new owner, or to another copy."""
        if (handover := self.moving.get(model)) is not None and handover.former is instance:
            self.arrived(model, handover.newcomer)
        elif self._copies is not None:
            self._copies.lacks(model, instance)

    def arrived(self, model: str, newcomer: T) -> None:
        """An instance that was to load the model serves it from now on, alone or beside others."""
        if self._handovers is not None and self._handovers.settle(model, newcomer):
            self._owners.pop(model, None)
        elif self._copies is not None:
            self._copies.settle(model, newcomer)

    def missed(self, model: str, newcomer: T) -> None:
        """An instance could not load the model: the next call for it may begin the load once more."""
        if self._handovers is not None and self._handovers.begin_anew(model, newcomer):
            self._owners.pop(model, None)
        elif self._copies is not None:
            self._copies.give_up(model, newcomer)

    def awaits(self, model: str, handover: Handover[T]) -> bool:
        """Whether the newcomer is still to load the model."""
        if handover.copies:
            return self._copies is not None and self._copies.is_awaited(model, handover)
        return self.moving.get(model) is handover

    def _is_ready(self, instance: T) -> bool:
        return instance.fleet is self._fleet

    def _owner(self, model: str) -> T:
        if len(self._owners) >= self._owners_max:
            self._owners.clear()
        owner = self._slots.owner(model)
        if self._handovers is not None:
            owner = self._handovers.server(model, owner, self._is_ready)
        self._owners[model] = owner
        return owner


def never_quicker(model: str, instance: PlacedInstance) -> bool:
    """Where nobody knows how long loads and requests take, none leaves a warm copy for a load."""
    return False
