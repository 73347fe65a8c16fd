"""Where the copies on the instances of one variant stand, and since when each instance has had none. It starts nothing.

The fleet and the simulator keep one each, so that both place, consolidate and release alike. Callers give the time.
"""

from collections.abc import Iterable, Sequence
from math import inf
from typing import NamedTuple

from torpor_endpoint.core.packing.compute_amounts import ComputeAmount
from torpor_endpoint.core.packing.copy_placement import place
from torpor_endpoint.core.packing.packed_instances import CopyId, PackedCopy, PackedInstance
from torpor_endpoint.core.packing.scale_in_plans import ScaleInPlan, quiet_until_s, scale_in
from torpor_endpoint.core.resource_records import ScaleIn


class InstancePlace(NamedTuple):
    """An instance that is wanted: its slot number, what copies may have of it, and its type."""

    number: int
    size: ComputeAmount
    instance_type: str | None = None


class StandingCopies:
    """Each copy and the number of its instance. A copy that is no longer wanted has its place until it is gone."""

    def __init__(self) -> None:
        self._placed: dict[CopyId, tuple[PackedCopy, int]] = {}
        self._leaving: set[CopyId] = set()
        self._empty_since_s: dict[int, float] = {}
        self._changed_s = -inf  # when a copy or an instance last came or went, as far as `note` has seen it
        self._seen: tuple[object, ...] = ()

    def take(self, copy: PackedCopy, places: Iterable[InstancePlace], only: int | None = None) -> int | None:
        """Place a copy, on the instance of this number if one is given. The number; None where there is no room."""
        found = place(copy, [one for one in self.instances(places) if only in (None, one.number)])
        if found is not None:
            self._placed[copy.name] = copy, found
            self._empty_since_s.pop(found, None)
        return found

    def leave(self, name: CopyId) -> None:
        """The copy is no longer wanted."""
        self._leaving.add(name)

    def free(self, name: CopyId) -> None:
        """The copy is gone."""
        self._placed.pop(name, None)
        self._leaving.discard(name)

    @property
    def leaving(self) -> bool:
        """Whether a copy has a place that it will give back."""
        return not self._leaving.isdisjoint(self._placed)

    def on(self, number: int) -> bool:
        """Whether the instance of this number has a copy."""
        return any(instance == number for _, instance in self._placed.values())

    def place_of(self, name: CopyId) -> int | None:
        """The number of the copy's instance; None if it has no place."""
        found = self._placed.get(name)
        return None if found is None else found[1]

    def instances(self, places: Iterable[InstancePlace]) -> list[PackedInstance]:
        """These instances, with their copies."""
        held = dict[int, list[PackedCopy]]()
        for copy, instance in self._placed.values():
            held.setdefault(instance, []).append(copy)
        return [
            PackedInstance(number, size, tuple(held.get(number, ())), instance_type, self._empty_since_s.get(number))
            for number, size, instance_type in places
        ]

    def note(self, numbers: Sequence[int], now_s: float) -> None:
        """Note since when which instance has been empty, and whether anything has changed. `numbers` are those of the
        wanted instances, in ascending order."""
        seen = (tuple(numbers), tuple(sorted((name, at) for name, (_, at) in self._placed.items())))
        if seen != self._seen:
            self._seen, self._changed_s = seen, now_s
        used = {instance for _, instance in self._placed.values()}
        empty = [number for number in numbers if number not in used]
        self._empty_since_s = {number: self._empty_since_s.get(number, now_s) for number in empty}

    def scale_in(
        self, places: Sequence[InstancePlace], policy: ScaleIn | None, least: int, now_s: float
    ) -> ScaleInPlan:
        """What to give back now; see `scale_in_plans`."""
        self.note([one.number for one in places], now_s)
        return scale_in(self.instances(places), policy, least, now_s, self._changed_s)

    def quiet_until_s(self, places: Sequence[InstancePlace], policy: ScaleIn | None, least: int, now_s: float) -> float:
        """The time before which nothing is given back, if no copy comes or goes."""
        self.note([one.number for one in places], now_s)
        return quiet_until_s(self.instances(places), policy, least, self._changed_s)
