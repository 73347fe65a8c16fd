"""What a router reports to the control, as values and as JSON."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from torpor_container.typed_json import read
from torpor_endpoint.core.routing.table_differences import TableVersion
from torpor_endpoint.core.traffic import TrafficReport

SILENT_S = 10.0
"""A router that has not reported for so long is no more; one whose reports have no answer for so long is cut off."""
VariantKey = tuple[str, str]
"""An endpoint and a variant."""


class ShareReport(NamedTuple):
    """The part of a variant's MaxConcurrency that a router has and needs."""

    most: int  # that it may have in flight
    demand: int  # in flight, or refused since the last report


class RouterReport(NamedTuple):
    """`version` is the table that the router has applied; `in_use` has the instances that left the table and still have
    requests of this router, and `streams` those of them with a stream among these; `shares` is of serverless variants;
    `ports` share the limits of calls as far as the router knows, and are 0 before the control has said it."""

    router: str
    version: TableVersion | None
    in_use: frozenset[str]
    traffic: Mapping[VariantKey, TrafficReport]
    shares: Mapping[VariantKey, ShareReport]
    ports: int
    streams: frozenset[str] = frozenset()

    def json(self) -> dict[str, Any]:
        """What `read` reads."""
        return {
            "router": self.router,
            "version": None if self.version is None else list(self.version),
            "in_use": sorted(self.in_use),
            "traffic": [[*key, *_bounded(report)] for key, report in self.traffic.items()],
            "shares": [[*key, *share] for key, share in self.shares.items()],
            "ports": self.ports,
            "streams": sorted(self.streams),
        }

    @classmethod
    def read(cls, json: Mapping[str, Any]) -> "RouterReport":
        """Raises KeyError, TypeError, ValueError for what is no report of this release."""
        version = json["version"]
        traffic = {(endpoint, variant): read(TrafficReport, report) for endpoint, variant, *report in json["traffic"]}
        shares = {(endpoint, variant): read(ShareReport, share) for endpoint, variant, *share in json["shares"]}
        applied = None if version is None else read(TableVersion, version)
        in_use, streams = frozenset(json["in_use"]), frozenset(json["streams"])
        return cls(json["router"], applied, in_use, traffic, shares, int(json["ports"]), streams)


class ReportAnswer(NamedTuple):
    """What the control answers: the router's last batch that it has, the number of routers, the number of ports that
    share the limits of calls, and the router's shares."""

    taken: int
    routers: int
    ports: int
    shares: Mapping[VariantKey, int]

    def json(self) -> dict[str, Any]:
        """What `read` reads."""
        return {**self._asdict(), "shares": [[*key, share] for key, share in self.shares.items()]}

    @classmethod
    def read(cls, json: Mapping[str, Any]) -> "ReportAnswer":
        """Raises KeyError, TypeError, ValueError."""
        shares = {(endpoint, variant): int(share) for endpoint, variant, share in json["shares"]}
        return cls(int(json["taken"]), int(json["routers"]), int(json["ports"]), shares)


def _bounded(report: TrafficReport) -> TrafficReport:
    """JSON has no infinity: a variant without traffic was idle for a year."""
    return report._replace(idle_s=min(report.idle_s, 365 * 86400.0))
