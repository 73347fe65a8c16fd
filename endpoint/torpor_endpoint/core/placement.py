"""Chooses the instance for a model's request, by rendezvous hashing over slots with bounded load. It sends nothing.

Every router has the same order of the slots of a variant for the same model. So a model's requests keep going to the
instance that has it, a restarted slot gets its own models back, and no table is needed. AWS describes the same
behaviour: "SageMaker continues to route requests for a model to the instance where the model is already loaded" and,
for a hot model, "some requests are routed to another instance". The bound is that of consistent hashing with bounded
loads (Mirrokni, Thorup, Zadimoghaddam, 2016).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from hashlib import blake2b
from math import ceil
from struct import Struct
from typing import Final, Generic, TypeVar

from torpor_endpoint.core.routing.handing_over import Begun, Handover, Handovers
from torpor_endpoint.core.routing.second_copies import CopiedModel, Quicker, SecondCopies

SHARE: Final = 1.25
"""An instance may have this much more than the average load before a model gets a second copy."""

BUSY_MIN: Final = 8
"""With fewer requests in flight an instance is never too busy for its own models: a copy costs a cold start."""

UNBOUNDED: Final = 2**31
"""The most requests that an instance may have, where nothing bounds them."""

OWNERS_MAX: Final = 16_384
"""The most models whose owner is remembered, unless a caller has room for more. Another search takes microseconds."""

WALKS_MAX: Final = 1_024
"""The most models whose next instances are remembered: only a model with a busy owner has them."""

WALK_MAX: Final = 64
"""The most instances that are tried in a model's order. A model that finds so many busy may go anywhere."""

LEVELS: Final = 16
"""Slot numbers have at most this many bits: each has a word of a hash."""

WORD_BITS: Final = 32
WORDS: Final = Struct(f"<{LEVELS}I")  # little-endian on every machine


class SlotOrder:
    """The order of the slots 0, 1, 2 … for one model: the same in every process and on every machine.

    It is that of draws from all numbers below 2^levels, each as likely as the others, without those that came before
    or that no instance has. So each slot is as likely to be the next, whichever there are, and a few draws find it
    where most numbers have an instance. A draw is for the upper half of the numbers, or else it is the next draw among
    the lower half, which knows nothing of the upper one. So more levels insert slots into the order and move none.
    """

    __slots__ = ("_drawn", "_levels", "_name", "_words")

    def __init__(self, model: str, levels: int) -> None:
        self._name = model.encode(errors="surrogateescape")
        self._levels = levels
        self._drawn = [0] * (levels + 1)  # by level: how many words were used
        self._words: list[tuple[int, ...]] = []

    def draw(self) -> int:
        """The next slot number; numbers come again and again."""
        for level in range(self._levels, 0, -1):
            drawn = self._drawn[level]
            self._drawn[level] = drawn + 1
            if drawn == len(self._words):
                self._words.append(self._more_words(drawn))
            number = self._words[drawn][level - 1] >> (WORD_BITS - level)
            if number >> (level - 1):
                return number
        return 0

    def _more_words(self, drawn: int) -> tuple[int, ...]:
        """For each level, the word of 32 random bits after so many that were drawn."""
        return WORDS.unpack(blake2b(b"%d\0%s" % (drawn, self._name), digest_size=WORDS.size).digest())


class FleetLoad:
    """How many requests are in flight at all instances that are ready together."""

    __slots__ = ("in_flight",)

    def __init__(self) -> None:
        self.in_flight = 0


class PlacedInstance:
    """An instance that requests are placed on. `in_flight` counts the requests that it has not answered, and
    `fleet` those of all instances that are ready with it. Both change by `took` and `answered` only."""

    __slots__ = ("fleet", "in_flight")

    in_flight: int
    fleet: FleetLoad

    def took(self) -> None:
        """Count one more request."""
        self.in_flight += 1
        self.fleet.in_flight += 1

    def answered(self) -> None:
        """Count one request less."""
        self.in_flight -= 1
        self.fleet.in_flight -= 1


T = TypeVar("T", bound=PlacedInstance)


class Walk(Generic[T]):
    """The instances for one model in its order, as far as they were needed."""

    __slots__ = ("found", "order")

    def __init__(self, order: SlotOrder) -> None:
        self.order = order
        self.found: dict[int, T] = {}  # by slot number


class Placement(Generic[T]):
    """The ready instances of one variant, by slot number. `count` is how many there are.

    An instance gets at most `most` requests at a time, while another one has room. A router that is one of several
    counts its own requests alone: its `busy_min` is its share of BUSY_MIN.

    With `hands_over` a model that gets another owner stays with its former one, while that is ready, until `arrived`
    tells that the new owner has it (`routing.handing_over`). Calls for a model whose owner is busy stay with its warm
    copy, until `arrived` tells that one more is loaded, unless that is `quicker` (`routing.second_copies`).
    `hands_over` hears of each model that is to be loaded. The models under way are in `moving`, and those with copies
    in `copied`: who serves such a call must find out whether the instance has the model in memory if placement `asks`
    it, and otherwise tell `lacks`.
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
        self._ready: dict[int, T] = {}
        self._all: list[T] = []
        self._turn = 0  # the place in `_all` of the last one that was found out of a model's order
        self._fleet = FleetLoad()
        self._levels = 0  # the bits of the highest number
        self._owners: dict[str, T] = {}  # by model
        self._walks: dict[str, Walk[T]] = {}  # by model
        self._handovers: Handovers[T] | None = None if hands_over is None else Handovers(owners_max, hands_over)
        self.moving: Mapping[str, Handover[T]] = {} if self._handovers is None else self._handovers.under_way
        self._copies: SecondCopies[T] | None = None
        if hands_over is not None:
            self._copies = SecondCopies(hands_over, quicker or never_quicker)
        self.copied: Mapping[str, CopiedModel[T]] = {} if self._copies is None else self._copies.known

    def offer(self, number: int, instance: T) -> None:
        """Place requests on this slot's instance from now on. Raises ValueError for a number that is out of range."""
        if not 0 <= number < 1 << LEVELS:
            raise ValueError(f"slot number {number} is not from 0 to {(1 << LEVELS) - 1}")
        self.withdraw(number)
        self._ready[number] = instance
        instance.fleet = self._fleet
        self._fleet.in_flight += instance.in_flight
        self._changed()

    def withdraw(self, number: int) -> T | None:
        """Place no more requests on the slot's instance, and return it; None if the slot had none."""
        instance = self._ready.pop(number, None)
        if instance is not None:
            instance.fleet = FleetLoad()
            self._fleet.in_flight -= instance.in_flight
            self._changed()
        return instance

    def _changed(self) -> None:
        self._all = list(self._ready.values())
        self.count = len(self._all)
        self._levels = max(self._ready, default=0).bit_length()
        if self._handovers is not None:
            self._handovers.changed(self._owners, self._is_ready)
        if self._copies is not None:
            self._copies.changed()
        self._owners.clear()
        self._walks.clear()

    def pick(self, model: str, *, begins: bool = True) -> T:
        """The instance for one more request for this model, which `begins` the load of one more copy if its owner is
        busy. At least one instance must be ready."""
        owner = self._owners.get(model)
        if owner is None:
            owner = self._owner(model)
        if owner.in_flight < self.busy_min and owner.in_flight < self.most:
            return owner
        bound = self.bound(self._fleet.in_flight)
        if self._keeps(model, owner, bound) or (found := self.with_room(model, bound)) is None:
            return owner
        return found if self._copies is None else self._copies.server(model, owner, found, self.most, begins)

    def _keeps(self, model: str, owner: T, bound: int) -> bool:
        """Whether the owner serves the call in any case. A former one has the model, and the next one in the order is
        the newcomer, which loads it."""
        return owner.in_flight < bound or (owner.in_flight < self.most and model in self.moving)

    def pick_among(self, model: str, allowed: Set[T]) -> T:
        """As `pick`, of some instances alone: nothing begins at another one. At least one of them must be ready."""
        ready = sum([one in allowed for one in self._all])
        if not ready:
            raise ValueError("none of the allowed instances is ready")
        if ready == len(self._all):
            return self.pick(model)
        bound, found = self.bound(self._fleet.in_flight), None
        order, own = SlotOrder(model, self._levels), dict[T, None]()
        while found is None and len(own) < ready:
            one = self._ready.get(order.draw())
            if one is not None and one in allowed:
                own[one] = None
                found = one if one.in_flight < bound else None
        owner = self._owners.get(model) or (self._owner(model) if self._first(model) in allowed else None)
        if owner is None or owner not in allowed:
            return found or next(iter(own))
        if found is None or self._keeps(model, owner, bound):
            return owner
        return found if self._copies is None else self._copies.server(model, owner, found, self.most, True, allowed)

    @property
    def in_flight(self) -> int:
        """The requests in flight at all ready instances."""
        return self._fleet.in_flight

    def bound(self, in_flight: int) -> int:
        """With so many requests at an instance it is too busy for its own models, while all have `in_flight`."""
        fair = ceil(SHARE * (in_flight + 1) / len(self._all))
        return min(max(self.busy_min, fair), self.most)

    def with_room(self, model: str, bound: int) -> T | None:
        """The first instance in the model's order with fewer than `bound` requests in flight. It is any such instance
        if the first WALK_MAX have more, and None if all have more."""
        if len(self._all) == 1:
            return self._all[0] if self._all[0].in_flight < bound else None
        walk = self._walks.get(model)
        if walk is None:
            if len(self._walks) == WALKS_MAX:
                self._walks.clear()
            walk = self._walks[model] = Walk(SlotOrder(model, self._levels))
        for one in walk.found.values():
            if one.in_flight < bound:
                return one
        while len(walk.found) < min(len(self._all), WALK_MAX):
            number = walk.order.draw()
            found = self._ready.get(number)
            if found is not None and number not in walk.found:
                walk.found[number] = found
                if found.in_flight < bound:
                    return found
        return None if len(self._all) <= WALK_MAX else self._anywhere(bound)

    def _anywhere(self, bound: int) -> T | None:
        """In turns, so that a few instances are looked at where many have room."""
        for _ in self._all:
            self._turn = (self._turn + 1) % len(self._all)
            if self._all[self._turn].in_flight < bound:
                return self._all[self._turn]
        return None

    def first(self, model: str, count: int) -> list[T]:
        """The first instances in the model's order, at most so many: those that its calls come to."""
        if len(self._all) < 2 or count >= len(self._all):
            return list(self._all)
        if count == 1:
            return [self._first(model)]
        order, found = SlotOrder(model, self._levels), dict[int, T]()
        while len(found) < count:
            number = order.draw()
            if (instance := self._ready.get(number)) is not None:
                found[number] = instance
        return list(found.values())

    def least_busy(self) -> T:
        """The instance with the fewest requests, for variants with one model. At least one must be ready."""
        least = self._all[0]
        for one in self._all:
            if not least.in_flight:
                break
            if one.in_flight < least.in_flight:
                least = one
        return least

    @property
    def has_room(self) -> bool:
        """Whether an instance has fewer requests than it may have."""
        if self._fleet.in_flight < self.most * len(self._all):
            return True
        return any(one.in_flight < self.most for one in self._all)

    def get(self, number: int) -> T | None:
        return self._ready.get(number)

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[T]:
        """The instances that are ready now. The set may change during the iteration."""
        return iter(tuple(self._all))

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
        owner = self._first(model)
        if self._handovers is not None:
            owner = self._handovers.server(model, owner, self._is_ready)
        self._owners[model] = owner
        return owner

    def _first(self, model: str) -> T:
        if len(self._all) < 2:  # draws would take long to find a high number alone, and for ever to find none
            return self._all[0]
        order = SlotOrder(model, self._levels)
        while (instance := self._ready.get(order.draw())) is None:
            pass
        return instance


def never_quicker(model: str, instance: PlacedInstance) -> bool:
    """Where nobody knows how long loads and requests take, none leaves a warm copy for a load."""
    return False


GOLDEN: Final = (5**0.5 - 1) / 2
W = TypeVar("W")


def weighted(weights: Sequence[tuple[W, float]], point: float) -> W:
    """The variant, or the fleet of a variant, at `point` (0 to 1), where each has a share by its weight. If all are 0
    the first has all."""
    total = sum(weight for _, weight in weights)
    left = point * total
    for name, weight in weights:
        left -= weight
        if left < 0:
            return name
    return next((name for name, weight in reversed(weights) if weight > 0), weights[0][0])


def in_turn(weights: Sequence[tuple[W, float]], number: int) -> W:
    """The one for the request of this number, from 0. The points are a sequence of low discrepancy (multiples of the
    golden ratio): of the first requests, however many of 3,000, each has its share within three."""
    return weighted(weights, number * GOLDEN % 1.0)
