"""The metrics of the protocols by which requests came, also where a router counts them for the control."""

import json

import pytest

from tests.helpers.metric_pages import written
from torpor_account.metrics.registry import MetricRegistry
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_endpoint.ledger.ledger_schema import LEDGER
from torpor_endpoint.ledger.row_collecting import Ledger
from torpor_endpoint.routing.control.account_taker import AccountTaker
from torpor_endpoint.routing.router.reports.pending_accounts import MeterRows, PendingAccounts
from torpor_endpoint.runtime.observing.meter import AlikeRequests, Meters

TWO = AlikeRequests(1, 200, None, [0.1, 0.2], [0.01, 0.02])


def counted(*samples: AlikeRequests, by_router: bool) -> str:
    """The page for Prometheus after these requests."""
    registry = MetricRegistry(lambda: 60.0)
    meters = Meters(registry)
    accounts = PendingAccounts()
    for one in samples:
        (MeterRows(accounts) if by_router else meters).add("ep", "v", one, 60.0)
    if (batch := accounts.batch()) is not None:
        AccountTaker(Ledger(SqliteFile(":memory:", LEDGER), lambda: 60.0), meters).take(
            "r-1", json.loads(json.dumps(batch.json()))
        )
    return written(registry, {"ep"})


@pytest.mark.parametrize("by_router", [False, True])
def test_each_protocol_has_its_own_count(by_router: bool) -> None:
    page = counted(TWO, TWO._replace(face="grpc"), TWO._replace(face="grpc", status=500), by_router=by_router)
    of = 'endpoint_name="ep",face="{}",variant_name="v"'.format
    assert f"torpor_face_invocations_total{{{of('sagemaker')}}} 2.0" in page
    assert f"torpor_face_invocations_total{{{of('grpc')}}} 4.0" in page
    assert f"torpor_face_model_errors_total{{{of('grpc')}}} 2.0" in page
    assert 'torpor_invocations_total{endpoint_name="ep",variant_name="v"} 6.0' in page
