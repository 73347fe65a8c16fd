"""Charges the models in memory by what they take: their own bytes, and a share of the file that they map.

An instance learns that others began or ceased to map a file when it looks: before a load for which there is no room,
and a few models at each report. Until then it charges what it saw last. That may be too little for a while, and does no
harm: the pages of a mapped file are clean, and the kernel takes them back before any process lacks memory.
"""

from collections import OrderedDict
from collections.abc import Callable
from itertools import islice

from torpor_container.core.occupancy import Footprint
from torpor_container.core.residency import Residency
from torpor_container.formats.format import Mapped
from torpor_container.mapped.mapped_folder import holders

LOOKED_AT_EACH_TIME = 64
HOT_CALLS, HOT_SHARE = 1_000, 8
"""A model is hot once it has answered so many calls since it was loaded, and one in so many of all that its instance
has answered since then. So few models of an instance are hot at a time."""


def is_hot(calls: int, all_calls: int) -> bool:
    """`calls` of a model since it was loaded, and `all_calls` of its instance meanwhile."""
    return calls >= HOT_CALLS and calls * HOT_SHARE >= all_calls


class MappedShares:
    """What each model that maps a file is charged. It changes sizes in the residency, and evicts nothing."""

    def __init__(self, residency: Residency, clock: Callable[[], float]) -> None:
        self._residency = residency
        self._clock = clock
        self._mapped: OrderedDict[str, tuple[int, Mapped]] = OrderedDict()  # private bytes, by model

    def charged_bytes(self, name: str, private_bytes: int, mapped: Mapped | None) -> int:
        """What a model takes that was loaded, or whose form was changed."""
        if mapped is None:
            self._mapped.pop(name, None)
            return private_bytes
        self._mapped[name] = private_bytes, mapped
        return _charged_bytes(private_bytes, mapped)

    def __contains__(self, name: str) -> bool:
        """Whether a file that the model maps answers."""
        return name in self._mapped

    def gone(self, name: str) -> None:
        self._mapped.pop(name, None)

    def look(self) -> bool:
        """Look at a few models, those that were not looked at for longest. True if they are charged more than before:
        call the residency's `evict_excess` then."""
        before_bytes = self._residency.planned_bytes
        for name in list(islice(self._mapped, LOOKED_AT_EACH_TIME)):
            self._look_at(name)
        return self._residency.planned_bytes > before_bytes

    def look_at_all(self) -> None:
        for name in tuple(self._mapped):
            self._look_at(name)

    def _look_at(self, name: str) -> None:
        self._mapped.move_to_end(name)
        self._residency.resized(name, _charged_bytes(*self._mapped[name]), self._clock())


def _charged_bytes(private_bytes: int, mapped: Mapped) -> int:
    return Footprint(private_bytes, mapped.size_bytes).charged_bytes(holders(mapped.path))
