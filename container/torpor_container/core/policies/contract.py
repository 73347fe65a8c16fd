"""What every eviction policy is told and asked; a policy orders names, and never loads, unloads or waits."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

MayLeave = Callable[[str], bool]


class Policy(ABC):
    """One way to choose who leaves. Sizes are bytes, a cost is the seconds that loading took, a touch is a request."""

    selective: ClassVar[bool] = False
    """Whether `keeps` may say no. It is not asked otherwise."""
    evicts: ClassVar[bool] = True
    """Whether idle models leave for others at all."""

    @abstractmethod
    def added(self, name: str, size_bytes: int, cost_s: float) -> None:
        """The model is resident from now on, because somebody asked for it."""

    @abstractmethod
    def touched(self, name: str) -> None:
        """A request used the resident model."""

    @abstractmethod
    def removed(self, name: str) -> None:
        """The model is resident no more."""

    @abstractmethod
    def victim(self, may_leave: MayLeave) -> str | None:
        """Name the next model to leave among those that may. The caller does remove it: asking is choosing."""

    def keeps(self, name: str, free_bytes: int) -> bool:
        """Whether the resident model is to stay now that it has served its callers, with so much memory left beside it.

        One that does not stay leaves at once, and the next newcomer finds its room.
        """
        return True


class Nobody(Policy):
    """Nobody ever leaves by itself: somebody else drives the unloading."""

    evicts = False

    def added(self, name: str, size_bytes: int, cost_s: float) -> None:
        pass

    def touched(self, name: str) -> None:
        pass

    def removed(self, name: str) -> None:
        pass

    def victim(self, may_leave: MayLeave) -> str | None:
        return None
