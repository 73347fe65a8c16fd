"""SIEVE: a queue, one bit per model, and a hand that sifts (Zhang and others, NSDI 2024). Only uses count."""

from collections import OrderedDict

from torpor_container.core.eviction.eviction_policy import MayLeave, Policy


class SIEVE(Policy):
    """The hand walks from old to new: models used since it last passed stay, and the first unused one leaves.

    The queue is kept in two pieces, cut where the hand is: old models that the hand has passed are behind it, the
    others ahead of it. A newcomer is ahead of the hand, which begins anew with the oldest when it has reached the end.
    """

    def __init__(self) -> None:
        self._used: dict[str, bool] = {}
        self._behind: OrderedDict[str, None] = OrderedDict()
        self._ahead: OrderedDict[str, None] = OrderedDict()

    def added(self, name: str, size_bytes: int, cost_s: float) -> None:
        self._begin_anew_at_the_end()
        self._ahead[name] = None
        self._used[name] = False

    def touched(self, name: str) -> None:
        self._used[name] = True

    def removed(self, name: str) -> None:
        del self._used[name]
        del (self._ahead if name in self._ahead else self._behind)[name]

    def victim(self, may_leave: MayLeave) -> str | None:
        """One round clears bits, so that the second finds a victim, unless no model may leave."""
        for _ in range(2 * len(self._used)):
            self._begin_anew_at_the_end()
            name = next(iter(self._ahead))
            if may_leave(name):
                if not self._used[name]:
                    return name
                self._used[name] = False
            del self._ahead[name]
            self._behind[name] = None
        return None

    def _begin_anew_at_the_end(self) -> None:
        if not self._ahead:
            self._ahead, self._behind = self._behind, self._ahead
