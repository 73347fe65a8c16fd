"""The interface of every eviction policy. A policy orders names; it never loads, unloads or waits."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

MayLeave = Callable[[str], bool]


class Policy(ABC):
    """Chooses which model leaves. Sizes are bytes, a cost is the seconds of the load, a touch is a request."""

    selective: ClassVar[bool] = False
    """Whether `keeps` may return False. It is not called otherwise."""
    evicts: ClassVar[bool] = True
    """Whether idle models leave for other models at all."""

    @abstractmethod
    def added(self, name: str, size_bytes: int, cost_s: float) -> None:
        """The model is resident from now on."""

    @abstractmethod
    def touched(self, name: str) -> None:
        """A request used the resident model."""

    @abstractmethod
    def removed(self, name: str) -> None:
        """The model is no longer resident."""

    @abstractmethod
    def victim(self, may_leave: MayLeave) -> str | None:
        """Choose the next model to leave among those that may. The caller must remove it."""

    def keeps(self, name: str, free_bytes: int) -> bool:
        """Whether a model stays once it has served its callers. `free_bytes` is the memory that no model takes.

        A model that does not stay leaves at once, and its room is free for the next newcomer.
        """
        return True


class Nobody(Policy):
    """Evicts no model: the platform says which models unload."""

    evicts = False

    def added(self, name: str, size_bytes: int, cost_s: float) -> None:
        pass

    def touched(self, name: str) -> None:
        pass

    def removed(self, name: str) -> None:
        pass

    def victim(self, may_leave: MayLeave) -> str | None:
        return None
