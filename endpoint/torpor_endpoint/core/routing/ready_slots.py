"""Keeps the ready instances of one variant by slot number, and each model's order of them, by rendezvous hashing.

Every router has the same order of the slots for the same model.
"""

from collections.abc import Set
from hashlib import blake2b
from struct import Struct
from typing import Final, Generic, TypeVar

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


class ReadySlots(Generic[T]):
    """The ready instances of one variant, by slot number. `all` has them in no order that means anything."""

    def __init__(self) -> None:
        self.all: list[T] = []
        self._by_number: dict[int, T] = {}
        self._turn = 0  # the place in `all` of the last one that was found out of a model's order
        self._levels = 0  # the bits of the highest number
        self._walks: dict[str, Walk[T]] = {}  # by model

    def put(self, number: int, instance: T) -> None:
        """The slot, which has none, has this instance from now on. Raises ValueError for a number out of range."""
        if not 0 <= number < 1 << LEVELS:
            raise ValueError(f"slot number {number} is not from 0 to {(1 << LEVELS) - 1}")
        self._by_number[number] = instance
        self._changed()

    def take(self, number: int) -> T | None:
        """Remove the slot's instance, and return it; None if the slot has none."""
        instance = self._by_number.pop(number, None)
        if instance is not None:
            self._changed()
        return instance

    def get(self, number: int) -> T | None:
        return self._by_number.get(number)

    def _changed(self) -> None:
        self.all = list(self._by_number.values())
        self._levels = max(self._by_number, default=0).bit_length()
        self._walks.clear()

    def owner(self, model: str) -> T:
        """The first one in the model's order. At least one must be ready."""
        if len(self.all) < 2:  # draws would take long to find a high number alone, and for ever to find none
            return self.all[0]
        order = SlotOrder(model, self._levels)
        while (instance := self._by_number.get(order.draw())) is None:
            pass
        return instance

    def first(self, model: str, count: int) -> list[T]:
        """The first instances in the model's order, at most so many: those that its calls come to."""
        if len(self.all) < 2 or count >= len(self.all):
            return list(self.all)
        if count == 1:
            return [self.owner(model)]
        order, found = SlotOrder(model, self._levels), dict[int, T]()
        while len(found) < count:
            number = order.draw()
            if (instance := self._by_number.get(number)) is not None:
                found[number] = instance
        return list(found.values())

    def first_among(self, model: str, allowed: Set[T], bound: int) -> tuple[T, bool]:
        """Of the `allowed` ones, the first in the model's order with fewer than `bound` requests in flight, and True;
        where all have more, the first, and False. At least one of them must be ready."""
        ready = sum([one in allowed for one in self.all])
        order, own = SlotOrder(model, self._levels), dict[T, None]()
        while len(own) < ready:
            one = self._by_number.get(order.draw())
            if one is not None and one in allowed:
                own[one] = None
                if one.in_flight < bound:
                    return one, True
        return next(iter(own)), False

    def with_room(self, model: str, bound: int) -> T | None:
        """The first instance in the model's order with fewer than `bound` requests in flight. It is any such instance
        if the first WALK_MAX have more, and None if all have more."""
        if len(self.all) == 1:
            return self.all[0] if self.all[0].in_flight < bound else None
        walk = self._walks.get(model)
        if walk is None:
            if len(self._walks) == WALKS_MAX:
                self._walks.clear()
            walk = self._walks[model] = Walk(SlotOrder(model, self._levels))
        for one in walk.found.values():
            if one.in_flight < bound:
                return one
        while len(walk.found) < min(len(self.all), WALK_MAX):
            number = walk.order.draw()
            found = self._by_number.get(number)
            if found is not None and number not in walk.found:
                walk.found[number] = found
                if found.in_flight < bound:
                    return found
        return None if len(self.all) <= WALK_MAX else self._anywhere(bound)

    def _anywhere(self, bound: int) -> T | None:
        """In turns, so that a few instances are looked at where many have room."""
        for _ in self.all:
            self._turn = (self._turn + 1) % len(self.all)
            if self.all[self._turn].in_flight < bound:
                return self.all[self._turn]
        return None

    def least_busy(self) -> T:
        """The instance with the fewest requests, for variants with one model. At least one must be ready."""
        least = self.all[0]
        for one in self.all:
            if not least.in_flight:
                break
            if one.in_flight < least.in_flight:
                least = one
        return least
