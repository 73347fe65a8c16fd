"""Holds all series of this endpoint, Torpor's own and those of PutMetricData: finds, ages, removes and bounds them."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Container, Iterable, Iterator, Mapping

from torpor_account.metrics.fine_series import FineSeries
from torpor_account.metrics.metrics import Metric, is_reserved
from torpor_account.metrics.series import Series, SeriesKey

SERIES_MAX = 10_000
SERIES_OF_ENDPOINT = 200
"""Room for those of one endpoint with a few variants: no endpoint in service loses its counts to another."""

AGEING_PERIOD_S = 300.0


async def nothing_to_refresh() -> None:
    """For metrics that are always current."""


class MetricRegistry:
    """All series. `clock` gives epoch seconds. Beyond `series_max`, the series that was silent longest is removed.

    Torpor's own series and those of callers are counted apart: no number of custom metrics removes one of Torpor's.
    Of these there may be more, by how many `endpoints` are in service. One thread writes (the event loop's); any thread
    may read.
    """

    def __init__(
        self, clock: Callable[[], float], series_max: int = SERIES_MAX, endpoints: Callable[[], int] = lambda: 0
    ) -> None:
        self.clock = clock
        self._endpoints = endpoints
        self._series_max = series_max
        self._series: dict[tuple[str, str], dict[SeriesKey, Series]] = {}
        # By whether the namespace is reserved; the longest silent first. For the writing thread only.
        self._by_silence: dict[bool, OrderedDict[Series, None]] = {True: OrderedDict(), False: OrderedDict()}

    def series(self, metric: Metric, dimensions: Mapping[str, str]) -> Series:
        """The series to add samples to; callers keep it. Raises ValueError for other dimensions than the metric's."""
        if set(dimensions) != set(metric.dimensions):
            raise ValueError(f"{metric.name} has the dimensions {metric.dimensions}, not {tuple(dimensions)}")
        key = key_of(metric.namespace, metric.name, dimensions.items(), metric.unit)
        return self.at(key, high_resolution=metric.high_resolution)

    def at(self, key: SeriesKey, *, high_resolution: bool = False) -> Series:
        """The series of this key, new if there is none. `high_resolution`: it is kept by ten seconds too."""
        found = self._series.get((key.namespace, key.name), {}).get(key)
        if found is None:
            found = (FineSeries if high_resolution else Series)(key, self._list)
            self._list(found)
        return found

    def find(self, namespace: str | None = None, name: str | None = None) -> Iterator[Series]:
        """All series of a namespace, of a name, of both, or all at all, in no particular order."""
        if namespace is not None and name is not None:
            yield from list(self._series.get((namespace, name), {}).values())
            return
        for (space, metric), family in list(self._series.items()):
            if namespace in (None, space) and name in (None, metric):
                yield from list(family.values())

    def forget(self, dimensions: Mapping[str, str]) -> None:
        """Remove every series that has all these dimensions, such as those of a deleted endpoint."""
        matched = set(dimensions.items())
        for series in self.find():
            if matched <= set(series.key.dimensions):
                self._drop(series)

    def age(self, series: Series, kept: bool) -> None:
        """Remove the old samples of a series, and the series itself if it is empty then and not `kept`."""
        series.age(self.clock())
        if series.empty and not kept and series in self._by_silence[is_reserved(series.key.namespace)]:
            self._drop(series)

    def _list(self, series: Series) -> None:
        """List the series as the newest. Each new minute calls this, so a removed series that is written comes back."""
        family = self._series.setdefault((series.key.namespace, series.key.name), {})
        listed = family.setdefault(series.key, series)
        own = is_reserved(series.key.namespace)
        by_silence = self._by_silence[own]
        by_silence[listed] = None
        by_silence.move_to_end(listed)
        if len(by_silence) > self._series_max and not (own and len(by_silence) <= self._most_own()):
            self._drop(next(iter(by_silence)))

    def _most_own(self) -> int:
        return max(self._series_max, SERIES_OF_ENDPOINT * self._endpoints())

    def _drop(self, series: Series) -> None:
        name = (series.key.namespace, series.key.name)
        del self._by_silence[is_reserved(series.key.namespace)][series]
        del self._series[name][series.key]
        if not self._series[name]:
            del self._series[name]


def key_of(namespace: str, name: str, dimensions: Iterable[tuple[str, str]], unit: str) -> SeriesKey:
    return SeriesKey(namespace, name, tuple(sorted(dimensions)), unit)


async def age(
    registry: MetricRegistry,
    endpoints: Container[str],
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Age all series each AGEING_PERIOD_S, for ever, one series at a time, since requests come first.

    `endpoints` are those that exist: their series stay when they are empty, and go on counting.
    """
    while True:
        await pause(AGEING_PERIOD_S)
        for series in list(registry.find()):
            registry.age(series, kept=series.key.endpoint in endpoints)
            await pause(0.0)
