"""A table whose rows have versions: what a follower lacks since the version that it has, and how it takes that up.

A control tells its routers of endpoints so, and a router its control of its traffic. The source numbers its changes,
and each row has the number of its last one. A follower names the version that it has, and gets the rows that changed
since, each as it is now, however often it changed: one that is slow gets no queue. It gets the whole table at its
start, from another life of the source, and when the source has forgotten which rows are gone since. Resource versions
of Kubernetes' watches (https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions) and the delta
discovery of xDS (https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol#incremental-xds) work alike.
"""

from collections import OrderedDict
from collections.abc import Mapping
from enum import Enum
from typing import Generic, NamedTuple, TypeVar

K = TypeVar("K")
V = TypeVar("V")

GONE_MAX = 10_000
"""So many rows that are gone are remembered. A follower that lacks the end of an older one gets the whole table."""


class TableVersion(NamedTuple):
    """`life` names one life of the source; numbers rise within it."""

    life: str
    number: int


class Differences(NamedTuple, Generic[K, V]):
    """The rows of a version, and the keys of those that are gone: all that changed after the number `since`. With None
    the rows are the whole table."""

    version: TableVersion
    since: int | None
    rows: Mapping[K, V]
    gone: tuple[K, ...] = ()


class Uptake(Enum):
    """What a follower makes of differences that have come."""

    WHOLE = "they stand in place of all that it has"
    CHANGES = "they change what it has"
    NOTHING = "it has them already"
    GAP = "it lacks what they build on"


def uptake(own: TableVersion | None, version: TableVersion, since: int | None) -> Uptake:
    """What a follower whose version is `own` makes of differences up to `version`, after the number `since`.

    Differences may come twice, and an older answer after a newer one. Those of an earlier life come no more: a follower
    that has met another one has given up its connection to the first.
    """
    if own is None or own.life != version.life:
        return Uptake.WHOLE if since is None else Uptake.GAP
    if version.number <= own.number:
        return Uptake.NOTHING
    if since is None:
        return Uptake.WHOLE
    return Uptake.CHANGES if since <= own.number else Uptake.GAP


class TableSource(Generic[K, V]):
    """The rows of one life, by key. Its numbers begin at 0, with no row."""

    def __init__(self, life: str, gone_max: int = GONE_MAX) -> None:
        self._life = life
        self._gone_max = gone_max
        self._number = 0
        self._rows: OrderedDict[K, tuple[int, V]] = OrderedDict()  # what changed last is last
        self._gone: OrderedDict[K, int] = OrderedDict()  # the number with which each left, the oldest first
        self._forgotten = 0  # the highest number of a row that is gone and forgotten

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def version(self) -> TableVersion:
        return TableVersion(self._life, self._number)

    def get(self, key: K) -> V | None:
        found = self._rows.get(key)
        return None if found is None else found[1]

    def update(self, rows: Mapping[K, V | None]) -> tuple[K, ...]:
        """Put these rows in place of those with their keys; None: the row is gone. Returns the keys of the rows that
        differ now. If there are any, the table has a new version."""
        changed = tuple(key for key, row in rows.items() if self.get(key) != row)
        self._number += bool(changed)
        for key in changed:
            row = rows[key]
            if row is None:
                del self._rows[key]
                self._gone[key] = self._number
            else:
                self._gone.pop(key, None)
                self._rows[key] = self._number, row
                self._rows.move_to_end(key)
        while len(self._gone) > self._gone_max:
            self._forgotten = self._gone.popitem(last=False)[1]
        return changed

    def since(self, version: TableVersion | None) -> Differences[K, V]:
        """What a follower lacks whose version this is; None for one that has nothing. It costs as much as has changed,
        however many rows there are."""
        known = version is not None and version.life == self._life and self._forgotten <= version.number <= self._number
        if version is None or not known:
            return Differences(self.version, None, {key: row for key, (_, row) in self._rows.items()})
        rows: dict[K, V] = {}
        for key in reversed(self._rows):
            number, row = self._rows[key]
            if number <= version.number:
                break
            rows[key] = row
        gone: list[K] = []
        for key in reversed(self._gone):
            if self._gone[key] <= version.number:
                break
            gone.append(key)
        return Differences(self.version, version.number, rows, tuple(gone))
