"""The policies that look at when a model came or was last used: LRU and FIFO. Sizes and costs do not count."""

from collections import OrderedDict

from torpor_container.core.eviction.eviction_policy import MayLeave, Policy


class FIFO(Policy):
    """The model that came first leaves first, used or not: the baseline for the other policies."""

    def __init__(self) -> None:
        self._oldest_first: OrderedDict[str, None] = OrderedDict()

    def added(self, name: str, size_bytes: int, cost_s: float) -> None:
        self._oldest_first[name] = None

    def touched(self, name: str) -> None:
        """A use changes nothing."""

    def removed(self, name: str) -> None:
        del self._oldest_first[name]

    def victim(self, may_leave: MayLeave) -> str | None:
        for name in self._oldest_first:
            if may_leave(name):
                return name
        return None


class LRU(FIFO):
    """The least recently used model leaves first: closest to what AWS documents ("unloads unused models")."""

    def __init__(self) -> None:
        super().__init__()
        self._used = self._oldest_first.move_to_end  # bound once, since to bind it takes as long as the move

    def touched(self, name: str) -> None:
        self._used(name)
