"""Holds the memory budget of one instance: one value that all its parts read. It may change while the instance runs."""

from collections.abc import Callable

Limit = Callable[[int], None]
"""Bounds this process to a budget in bytes."""


def unlimited(budget_bytes: int) -> None:
    """Bound nothing: this process is not confined."""


class MemoryBudget:
    """The memory of one instance, in bytes: its own process, the models and their scripts."""

    def __init__(self, size_bytes: int, limit: Limit = unlimited) -> None:
        self.size_bytes = size_bytes
        self._limit = limit
        self._mapped_bytes = 0

    def enforce(self) -> None:
        """Bound this process to the budget, after the budget has changed."""
        self._limit(self.size_bytes + self._mapped_bytes)

    def maps(self, more_bytes: int) -> None:
        """This process maps so many bytes of files more, or less. They are no private memory, though the limit counts
        them: ONNX Runtime maps weights so that it could write to copies of their pages."""
        self._mapped_bytes += more_bytes
        self.enforce()
