"""What a router reports to the control, as values and as JSON."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from torpor_container.typed_json import read
from torpor_endpoint.core.routing.table_differences import Differences, TableVersion
from torpor_endpoint.core.traffic import TrafficReport

SILENT_S = 10.0
"""A router that has not reported for so long is no more; one whose reports have no answer for so long is cut off."""
LONG_S = 365 * 86400.0
"""JSON has no infinity: a variant without traffic was idle for a year."""
VariantKey = tuple[str, str]
"""An endpoint and a variant."""


class ShareReport(NamedTuple):
    """The part of a variant's MaxConcurrency that a router has and needs."""

    most: int  # that it may have in flight
    demand: int  # in flight, or refused since the last report


class ReportedVariant(NamedTuple):
    """A router's requests of one variant. `share` is that of a serverless variant."""

    traffic: TrafficReport
    share: ShareReport | None = None


class RouterReport(NamedTuple):
    """`number` rises with each report of the router, and `answered` is that of the last one whose answer it has.
    `table` is the version of the routing table that the router has applied; `in_use` has the instances that left the
    table and still have requests of this router, and `streams` those of them with a stream among these; `ports` share
    the limits of calls as far as the router knows, and are 0 before the control has said it. `variants` are those whose
    requests have changed since what the control has, which names the router's life."""

    router: str
    number: int
    answered: int
    table: TableVersion | None
    in_use: frozenset[str]
    streams: frozenset[str]
    ports: int
    variants: Differences[VariantKey, ReportedVariant]

    def json(self) -> dict[str, Any]:
        """What `read` reads."""
        version, since, rows, gone = self.variants
        return {
            "router": self.router,
            "number": self.number,
            "answered": self.answered,
            "table": None if self.table is None else list(self.table),
            "in_use": sorted(self.in_use),
            "streams": sorted(self.streams),
            "ports": self.ports,
            "version": list(version),
            "since": since,
            "variants": [[*key, *_bounded(row.traffic), *(row.share or ())] for key, row in rows.items()],
            "gone": list(gone),
        }

    @classmethod
    def read(cls, json: Mapping[str, Any]) -> "RouterReport":
        """Raises KeyError, TypeError, ValueError for what is no report of this release."""
        table, since = json["table"], json["since"]
        rows = {(endpoint, variant): _variant(row) for endpoint, variant, *row in json["variants"]}
        gone = tuple((endpoint, variant) for endpoint, variant in json["gone"])
        version = read(TableVersion, json["version"])
        return cls(
            json["router"],
            int(json["number"]),
            int(json["answered"]),
            None if table is None else read(TableVersion, table),
            frozenset(json["in_use"]),
            frozenset(json["streams"]),
            int(json["ports"]),
            Differences(version, None if since is None else int(since), rows, gone),
        )


class ReportAnswer(NamedTuple):
    """What the control answers: the router's last batch that it has, the number of routers, the number of ports that
    share the limits of calls, and the router's shares that may be others than those that it has. `whole`: the control
    lacks what the report builds on, and wants all variants."""

    taken: int
    routers: int
    ports: int
    shares: Mapping[VariantKey, int]
    whole: bool = False

    def json(self) -> dict[str, Any]:
        """What `read` reads."""
        return {**self._asdict(), "shares": [[*key, share] for key, share in self.shares.items()]}

    @classmethod
    def read(cls, json: Mapping[str, Any]) -> "ReportAnswer":
        """Raises KeyError, TypeError, ValueError."""
        shares = {(endpoint, variant): int(share) for endpoint, variant, share in json["shares"]}
        return cls(int(json["taken"]), int(json["routers"]), int(json["ports"]), shares, bool(json["whole"]))


def _variant(row: list[Any]) -> ReportedVariant:
    share = read(ShareReport, row[4:]) if len(row) > 4 else None
    return ReportedVariant(read(TrafficReport, row[:4]), share)


def _bounded(report: TrafficReport) -> TrafficReport:
    return report._replace(idle_s=min(report.idle_s, LONG_S))
