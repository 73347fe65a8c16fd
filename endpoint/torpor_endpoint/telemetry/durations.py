"""Counts how long requests take: OpenTelemetry's `http.server.request.duration`, which the metric table does not have.

A batch observer. Unlike ModelLatency, it counts every request to an endpoint's variant, also those that were refused.
"""

from collections.abc import Container, Sequence

from torpor_account.metrics.tally import Tally
from torpor_endpoint.runtime.observing.observers import OK, Alike
from torpor_endpoint.runtime.passage import InvokeAnswer, Passage, Served
from torpor_endpoint.telemetry.spans import error_code, route_of

DURATION = "http.server.request.duration"
MICROSECONDS = 1e6
"""Tallies are in microseconds: their edges are the same as those of the metric table."""

Key = tuple[tuple[str, str | int], ...]
"""The attributes of one series."""


class RequestDurations:
    """The durations by attributes, since the endpoint's start. For the event loop's thread."""

    def __init__(self) -> None:
        self._tallies: dict[Key, Tally] = {}

    def ended(self, request: Passage, answer: InvokeAnswer) -> None:
        if request.route is None:
            return  # it names no endpoint, or none that exists: each would be a series of its own
        code = error_code(request, answer.headers)
        key = _key(request, request.route.live.name, request.route.variant, request.status, code)
        self._of(key).add(request.total_s * MICROSECONDS)

    def ended_alike(self, alike: Alike, requests: Sequence[Passage], served: Sequence[Served]) -> None:
        by_route: dict[str, list[Passage]] = {}
        for request in requests:
            by_route.setdefault(route_of(request.scope), []).append(request)
        for same in by_route.values():
            key = _key(same[0], alike.endpoint, alike.variant, OK, None)
            self._of(key).add_all([request.total_s * MICROSECONDS for request in same])

    def of(self, endpoints: Container[str]) -> list[tuple[Key, Tally]]:
        """The tallies of these endpoints, in microseconds. Those of other ones are removed."""
        self._tallies = {
            key: tally for key, tally in self._tallies.items() if dict(key)["torpor.endpoint"] in endpoints
        }
        return list(self._tallies.items())

    def _of(self, key: Key) -> Tally:
        tally = self._tallies.get(key)
        if tally is None:
            tally = self._tallies[key] = Tally()
        return tally


def _key(request: Passage, endpoint: str, variant: str, status: int, code: str | None) -> Key:
    key: Key = (
        ("http.request.method", str(request.scope["method"])),
        ("http.route", route_of(request.scope)),
        ("http.response.status_code", status),
        ("url.scheme", str(request.scope.get("scheme", "http"))),
        ("torpor.endpoint", endpoint),
        ("torpor.variant", variant),
    )
    return key if code is None else (*key, ("error.type", code))
