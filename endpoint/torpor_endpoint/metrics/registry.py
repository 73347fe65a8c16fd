"""All series of this endpoint, ours and those sent by PutMetricData; it finds, lists, ages, forgets and bounds them."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping

from torpor_endpoint.metrics.metrics import Metric, is_reserved
from torpor_endpoint.metrics.series import Series, SeriesKey

SERIES_MAX = 10_000


class MetricRegistry:
    """`clock` gives epoch seconds. Past `series_max`, the series that was silent longest makes room.

    Ours and our callers' are counted apart, so however many metrics a caller sends, none of ours goes for them. One
    thread writes (the event loop); any may find.
    """

    def __init__(self, clock: Callable[[], float], series_max: int = SERIES_MAX) -> None:
        self.clock = clock
        self._series_max = series_max
        self._series: dict[tuple[str, str], dict[SeriesKey, Series]] = {}
        # By whether they are ours; silent longest first. For the writing thread only.
        self._by_silence: dict[bool, OrderedDict[Series, None]] = {True: OrderedDict(), False: OrderedDict()}

    def series(self, metric: Metric, dimensions: Mapping[str, str]) -> Series:
        """The handle to add samples by; ask once and keep it."""
        if set(dimensions) != set(metric.dimensions):
            raise ValueError(f"{metric.name} has the dimensions {metric.dimensions}, not {tuple(dimensions)}")
        return self.at(key_of(metric.namespace, metric.name, dimensions.items(), metric.unit))

    def at(self, key: SeriesKey) -> Series:
        found = self._series.get((key.namespace, key.name), {}).get(key)
        if found is None:
            found = Series(key, self._list)
            self._list(found)
        return found

    def find(self, namespace: str | None = None, name: str | None = None) -> Iterator[Series]:
        """All series of a namespace, a name, both or neither, in no particular order."""
        if namespace is not None and name is not None:
            yield from list(self._series.get((namespace, name), {}).values())
            return
        for (space, metric), family in list(self._series.items()):
            if namespace in (None, space) and name in (None, metric):
                yield from list(family.values())

    def forget(self, dimensions: Mapping[str, str]) -> None:
        """Drop every series that has all these dimensions, such as those of an endpoint that was deleted."""
        wanted = set(dimensions.items())
        for series in self.find():
            if wanted <= set(series.key.dimensions):
                self._drop(series)

    def age(self, series: Series, kept: bool) -> None:
        """What is old of a series goes, and with its last sample the series, unless it is kept all the same."""
        series.age(self.clock())
        if series.empty and not kept and series in self._by_silence[is_reserved(series.key.namespace)]:
            self._drop(series)

    def _list(self, series: Series) -> None:
        """With each minute that begins in it: so a series that had to make room, and is written again, comes back."""
        family = self._series.setdefault((series.key.namespace, series.key.name), {})
        listed = family.setdefault(series.key, series)
        by_silence = self._by_silence[is_reserved(series.key.namespace)]
        by_silence[listed] = None
        by_silence.move_to_end(listed)
        if len(by_silence) > self._series_max:
            self._drop(next(iter(by_silence)))

    def _drop(self, series: Series) -> None:
        name = (series.key.namespace, series.key.name)
        del self._by_silence[is_reserved(series.key.namespace)][series]
        del self._series[name][series.key]
        if not self._series[name]:
            del self._series[name]


def key_of(namespace: str, name: str, dimensions: Iterable[tuple[str, str]], unit: str) -> SeriesKey:
    return SeriesKey(namespace, name, tuple(sorted(dimensions)), unit)
