"""Reads the ledger: cold starts as they were recorded, and costs, which it calculates. It writes nothing."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from torpor_container.typed_json import read, read_row
from torpor_endpoint.core.ledger import COLD_STEPS, SAGEMAKER_FACE, FaceSums, Sums
from torpor_endpoint.core.ledger_records import InstanceLife, InvocationRecord, cold_load
from torpor_endpoint.core.pages.cold_starts import LATEST, SLOWEST
from torpor_endpoint.core.pages.costs import ContainerUse
from torpor_endpoint.core.pages.own_models import CalledModel
from torpor_endpoint.core.pricing.accounts import ModelTraffic, Window, accounts
from torpor_endpoint.core.pricing.alternatives import PricedAlternative, alternatives
from torpor_endpoint.core.pricing.costs import VariantCosts, costs
from torpor_endpoint.core.pricing.prices import Prices
from torpor_endpoint.kept_prices import current_prices
from torpor_endpoint.ledger.face_table import faces_of
from torpor_endpoint.ledger.tables import RETENTION, Retention, Tables, names


@dataclass(frozen=True)
class VariantBill:
    """One variant's costs, the costs of its traffic in other ways to serve it, what each container of its pipeline
    took, and what came by other protocols than SageMaker's."""

    costs: VariantCosts
    on_aws: tuple[PricedAlternative, ...]
    containers: tuple[ContainerUse, ...] = ()
    faces: tuple[tuple[str, FaceSums], ...] = ()


@dataclass(frozen=True)
class Statement:
    """The bills of a window. The window is cut to the time of which the ledger has instances and traffic."""

    window: Window
    prices: Prices
    bills: tuple[VariantBill, ...]


class ColdPeriod(NamedTuple):
    """The cold starts of one period that have rows of their own."""

    at_s: int
    requests: int
    waited_s: float  # for instances and models, all requests together


class ModelSums(NamedTuple):
    """What the requests to one model came to."""

    model: str
    requests: int = 0
    errors: int = 0
    total_s: float = 0.0
    predict_s: float = 0.0
    last_minute_s: float = 0.0
    """The epoch seconds of the minute in which the last of them came."""


ORDERS = {LATEST: "at_s DESC, number DESC", SLOWEST: "total_s DESC, number"}
WAITED = " + ".join(f"coalesce(json_extract(steps, '$.{step}'), 0)" for step in sorted(COLD_STEPS))
"""The seconds that a cold start waited for its instance and its model."""


@dataclass(frozen=True)
class LedgerReader:
    """Any thread may call its methods. `clock` gives epoch seconds. Raises DatabaseFault."""

    tables: Tables
    clock: Callable[[], float]
    retention: Retention = RETENTION
    prices: Callable[[], Prices] = current_prices

    def knows(self, endpoint: str) -> bool:
        """Whether the ledger has rows of an endpoint of this name."""
        found = "SELECT 1 FROM {} WHERE endpoint = ? LIMIT 1"
        tables = ("lives", "cold_starts", "minutes")
        return any(self.tables.database.rows(found.format(table), endpoint) for table in tables)

    def cold_starts(
        self,
        endpoint: str | None = None,
        model: str | None = None,
        since_s: float = 0.0,
        limit: int = 100,
        order: str = LATEST,
    ) -> list[InvocationRecord]:
        """The latest `limit` cold starts, oldest first; or the slowest ones, the slowest first (`order`)."""
        rows = self.tables.database.rows(
            f"SELECT {', '.join(InvocationRecord._fields)} FROM cold_starts WHERE at_s >= ?1 "
            f"AND (?2 IS NULL OR endpoint = ?2) AND (?3 IS NULL OR model = ?3) ORDER BY {ORDERS[order]} LIMIT ?4",
            *(since_s, endpoint, model, limit),
        )
        return [_invocation(row) for row in (reversed(rows) if order == LATEST else rows)]

    def cold_counts(
        self, endpoint: str | None = None, model: str | None = None, since_s: float = 0.0
    ) -> dict[str, int]:
        """By endpoint, how many cold starts there are."""
        rows = self.tables.database.rows(
            "SELECT endpoint, count(*) FROM cold_starts WHERE at_s >= ?1 "
            "AND (?2 IS NULL OR endpoint = ?2) AND (?3 IS NULL OR model = ?3) GROUP BY endpoint",
            *(since_s, endpoint, model),
        )
        return {name: int(count) for name, count in rows}

    def cold_periods(self, endpoint: str, since_s: float, until_s: float, period_s: int) -> list[ColdPeriod]:
        """The cold starts in [since_s, until_s) by periods that begin at `since_s`; only those that have any."""
        rows = self.tables.database.rows(
            f"SELECT CAST(floor((at_s - ?2) / ?4) AS INTEGER), count(*), sum({WAITED}) FROM cold_starts "
            "WHERE endpoint = ?1 AND at_s >= ?2 AND at_s < ?3 GROUP BY 1 ORDER BY 1",
            *(endpoint, since_s, until_s, period_s),
        )
        return [ColdPeriod(int(since_s) + number * period_s, requests, waited_s) for number, requests, waited_s in rows]

    def called(self, since_s: float) -> list[CalledModel]:
        """The models that callers have called since then, with their requests; not those of shadow variants."""
        rows = self.tables.database.rows(
            "SELECT endpoint, model, sum(requests - copies), sum(cold) FROM minutes WHERE minute_s >= ?1 "
            "AND NOT 2 * copies > requests GROUP BY endpoint, model ORDER BY endpoint, model",
            since_s,
        )
        return [CalledModel(*row) for row in rows]

    def model_sums(self, endpoint: str) -> list[ModelSums]:
        """What the ledger has of each model of an endpoint that was called, without copies for shadow variants."""
        rows = self.tables.database.rows(
            "SELECT model, sum(requests), sum(errors), sum(total_s), sum(predict_s), max(minute_s) FROM minutes "
            "WHERE endpoint = ?1 AND NOT 2 * copies > requests GROUP BY model ORDER BY model",
            endpoint,
        )
        return [ModelSums(*row) for row in rows]

    def costs(self, endpoint: str | None, since_s: float, until_s: float) -> Statement:
        """The bills of every variant that had an instance or a request in the window. Raises KeptPricesUnusable."""
        now_s = self.clock()
        known_since_s = max(now_s - self.retention.kept_s, self.tables.known_since_s())
        window = Window(max(since_s, known_since_s), min(until_s, now_s))
        found, prices = accounts(self._lives(endpoint, window), self._traffic(endpoint, window), window), self.prices()
        artifacts = self._artifacts(endpoint, window.until_s)
        for use in found:
            use.artifacts_bytes = artifacts.get((use.endpoint, use.variant), 0)
        used = self._containers(endpoint, window)
        faces = faces_of(self.tables.database, endpoint, window.since_s, window.until_s)
        bills = (
            VariantBill(
                costs(one, window, prices),
                alternatives(one, window, prices),
                tuple(used.pop((one.endpoint, one.variant), ())),  # of both roles of a variant that was promoted
                () if one.shadow else _with_own(faces.get((one.endpoint, one.variant), []), one.traffic),
            )
            for one in found
        )
        return Statement(window, prices, tuple(bills))

    def _containers(self, endpoint: str | None, window: Window) -> dict[tuple[str, str], list[ContainerUse]]:
        """What the containers of pipelines took, by variant, in the minutes that begin in the window."""
        rows = self.tables.database.rows(_CONTAINERS, window.since_s, window.until_s, endpoint)
        found: dict[tuple[str, str], list[ContainerUse]] = {}
        for endpoint_name, variant, _, *use in rows:
            found.setdefault((endpoint_name, variant), []).append(ContainerUse(*use))
        return found

    def _artifacts(self, endpoint: str | None, until_s: float) -> dict[tuple[str, str], int]:
        """The bytes in S3 of all models that a variant ever fetched, as far as the ledger goes back."""
        rows = self.tables.database.rows(_ARTIFACTS, until_s, endpoint)
        return {(endpoint_name, variant): int(of_models) for endpoint_name, variant, of_models in rows}

    def _lives(self, endpoint: str | None, window: Window) -> list[InstanceLife]:
        """The lives that overlap the window."""
        rows = self.tables.database.rows(
            f"SELECT {', '.join(names(InstanceLife))} FROM lives WHERE (stopped_s IS NULL OR stopped_s > ?1) "
            "AND started_s < ?2 AND (?3 IS NULL OR endpoint = ?3) ORDER BY started_s",
            *(window.since_s, window.until_s, endpoint),
        )
        return [read_row(InstanceLife, dict(zip(names(InstanceLife), row, strict=True))) for row in rows]

    def _traffic(self, endpoint: str | None, window: Window) -> list[ModelTraffic]:
        """The traffic of the minutes that begin in the window."""
        added = ", ".join(f"sum({name})" for name in names(Sums))
        rows = self.tables.database.rows(
            f"SELECT endpoint, variant, model, size, 2 * copies > requests AS shadow, {added} FROM minutes "
            "WHERE minute_s >= ?1 AND minute_s < ?2 AND (?3 IS NULL OR endpoint = ?3) "
            "GROUP BY endpoint, variant, model, size, 5",
            *(window.since_s, window.until_s, endpoint),
        )
        return [
            ModelTraffic(endpoint, variant, model, size, Sums(*sums), bool(shadow))
            for endpoint, variant, model, size, shadow, *sums in rows
        ]


def _with_own(
    faces: Sequence[tuple[str, FaceSums]], traffic: Sequence[ModelTraffic]
) -> tuple[tuple[str, FaceSums], ...]:
    """What came by each face, and before them what came by SageMaker's own: the rest of the traffic. Nothing where
    all came by that."""
    if not faces:
        return ()
    sums, others = [one.sums for one in traffic], [one for _, one in faces]
    own = FaceSums(
        sum(one.requests for one in sums) - sum(one.requests for one in others),
        sum(one.cold for one in sums) - sum(one.cold for one in others),
        sum(one.errors for one in sums) - sum(one.errors for one in others),
        max(0.0, sum(one.total_s for one in sums) - sum(one.total_s for one in others)),
        max(0.0, sum(one.busy_s for one in sums) - sum(one.busy_s for one in others)),
    )
    return ((SAGEMAKER_FACE, own), *faces) if own.requests > 0 else tuple(faces)


_ARTIFACTS = """SELECT endpoint, variant, sum(each_bytes) FROM (
        SELECT endpoint, variant, sum(fetched_bytes) / sum(fetches) AS each_bytes FROM minutes
        WHERE fetches > 0 AND minute_s < ?1 AND (?2 IS NULL OR endpoint = ?2) GROUP BY endpoint, variant, model
    ) AS models GROUP BY endpoint, variant"""
_CONTAINERS = """WITH passed AS (
        SELECT endpoint, variant, min(position) AS position, container,
            sum(requests) AS requests, sum(total_s) AS total_s
        FROM containers WHERE minute_s >= ?1 AND minute_s < ?2 AND (?3 IS NULL OR endpoint = ?3)
        GROUP BY endpoint, variant, container
    ), looked AS (
        SELECT endpoint, variant, container, CAST(floor(sum(own_bytes) / sum(looks)) AS BIGINT) AS own_bytes
        FROM memory WHERE minute_s >= ?1 AND minute_s < ?2 AND (?3 IS NULL OR endpoint = ?3)
        GROUP BY endpoint, variant, container
    )
    SELECT endpoint, variant, position, container, requests, total_s, own_bytes
    FROM passed LEFT JOIN looked USING (endpoint, variant, container) ORDER BY endpoint, variant, position"""


def _invocation(row: tuple[Any, ...]) -> InvocationRecord:
    values = dict(zip(InvocationRecord._fields, row, strict=True))
    documents = {name: json.loads(values[name] or "null") for name in ("steps", "effort", "container_s")}
    decoded = {**documents, "cold": cold_load(values["cold"]), "shadow": bool(values["shadow"])}
    return read(InvocationRecord, list((values | decoded).values()))
