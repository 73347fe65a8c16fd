"""All series of this endpoint, ours and those sent by PutMetricData; it finds, lists, forgets and bounds them."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from torpor_endpoint.cloudwatch.metrics import Metric
from torpor_endpoint.cloudwatch.series import KEPT_S, Series, SeriesKey

SERIES_MAX = 10_000


class MetricRegistry:
    """`clock` gives epoch seconds. Past `series_max`, the series that was silent longest makes room."""

    def __init__(self, clock: Callable[[], float], series_max: int = SERIES_MAX) -> None:
        self.clock = clock
        self._series_max = series_max
        self._series: dict[tuple[str, str], dict[SeriesKey, Series]] = {}
        self._count = 0

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

    def _list(self, series: Series) -> None:
        """Also when a series that had to make room is written again: its handle never goes dead."""
        family = self._series.setdefault((series.key.namespace, series.key.name), {})
        if series.key not in family:
            family[series.key] = series
            self._count += 1
            if self._count > self._series_max:
                self._make_room(series)

    def _make_room(self, newest: Series) -> None:
        """Drop what is older than samples are kept; if nothing is, the one silent longest."""
        others = [series for series in self.find() if series is not newest]
        old = [series for series in others if series.last_s < self.clock() - KEPT_S]
        for series in old or [min(others, key=lambda series: series.last_s)]:
            self._drop(series)

    def _drop(self, series: Series) -> None:
        name = (series.key.namespace, series.key.name)
        if self._series.get(name, {}).pop(series.key, None) is not None:
            self._count -= 1
        if not self._series.get(name, True):
            del self._series[name]


def key_of(namespace: str, name: str, dimensions: Iterable[tuple[str, str]], unit: str) -> SeriesKey:
    return SeriesKey(namespace, name, tuple(sorted(dimensions)), unit)
