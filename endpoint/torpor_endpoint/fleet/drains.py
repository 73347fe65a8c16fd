"""The pools with instances that leave: they look again whether routers use these, whenever a router has said so."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from torpor_endpoint.in_service.pool import VariantPool


class Drains:
    """For the event loop's thread."""

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
