"""What other routers do with the instances of this fleet, as far as whoever drains one has to know."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from torpor_endpoint.core.traffic import Touched
from torpor_endpoint.in_service.pool import VariantPool


class Drains:
    """The pools with an instance that leaves: they look again whether routers use it, whenever a router has let go of
    something. For the event loop's thread."""

    def __init__(self) -> None:
        self._waiting: Counter[VariantPool] = Counter()

    def __len__(self) -> int:
        return len(self._waiting)

    @contextmanager
    def of(self, pool: VariantPool) -> Iterator[None]:
        """An instance of this pool waits until nobody uses it."""
        self._waiting[pool] += 1
        try:
            yield
        finally:
            self._waiting[pool] -= 1
            if not self._waiting[pool]:
                del self._waiting[pool]

    def look_again(self) -> None:
        """Routers may have let go of instances."""
        for pool in list(self._waiting):
            pool.look_again()


class OtherRouters(Protocol):
    """The routers beside this process."""

    @property
    def drains(self) -> Drains: ...

    @property
    def touched(self) -> Touched | None:
        """Where pools note that their requests at this process have changed; None: nobody reads it."""

    def uses(self, instance: str) -> bool:
        """Whether a router may still use an instance that was withdrawn."""

    def streams(self, instance: str) -> bool:
        """Whether a router has a stream of it."""


class NoOtherRouter:
    """There is none."""

    def __init__(self) -> None:
        self.drains = Drains()
        self.touched: Touched | None = None

    def uses(self, instance: str) -> bool:
        return False

    def streams(self, instance: str) -> bool:
        return False
