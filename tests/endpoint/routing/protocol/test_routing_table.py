"""The messages between a control and its routers: whatever is said is heard as it was said."""

import json
from math import inf

import pytest

from torpor_container.transport.address import Address, GuardedAddress
from torpor_endpoint.core.resource_records import AsyncInference, Container, DataCapture, Serverless, Variant
from torpor_endpoint.core.traffic import TrafficReport
from torpor_endpoint.in_service.incarnation import StartTrouble
from torpor_endpoint.routing.protocol.router_report import ReportAnswer, RouterReport, ShareReport
from torpor_endpoint.routing.protocol.routing_table import (
    RoutedContainer,
    RoutedEndpoint,
    RoutedInstance,
    RoutedVariant,
    RoutingTable,
    TableVersion,
)

CONTAINERS = (Container("torpor", "s3://b/p/", multi_model=True, environment={"A": "1"}), Container("x", name="last"))
VARIANTS = (
    Variant("plain", "m", CONTAINERS, weight=0.5, instance_type="ml.m5.large", direct=True),
    Variant("serverless", "m", CONTAINERS[:1], serverless=Serverless(1024, 20, 2)),
    Variant("shadow", "m", CONTAINERS[:1], shadow=True, capture=DataCapture("s3://b/c", 50, csv_types=("text/csv",))),
    Variant("waiting", "m", CONTAINERS[:1], asynchronous=AsyncInference("s3://b/out", responses_in=("SUCCESS",))),
)
ADDRESSES: tuple[Address, ...] = ("/run/i-1", ("10.0.0.7", 8080), GuardedAddress("10.0.0.8", 8081, bytes(range(32))))


@pytest.mark.parametrize("address", ADDRESSES, ids=str)
def test_a_table_is_read_as_it_was_written(address: Address) -> None:
    instance = RoutedInstance(3, "i-1", (RoutedContainer("i-1", address), RoutedContainer("i-2", "/run/i-2")))
    trouble = StartTrouble("no room", 3, False, ("primary",))
    variants = [RoutedVariant(variant, 2, trouble, (instance,)) for variant in VARIANTS]
    endpoint = RoutedEndpoint("shop", "arn:shop", "its image is unknown", tuple(variants))
    table = RoutingTable(TableVersion("c-1", 7), (endpoint, RoutedEndpoint("empty", "arn:empty", None, ())))
    assert RoutingTable.read(json.loads(json.dumps(table.json()))) == table


def test_a_report_and_its_answer_are_read_as_they_were_written() -> None:
    key = ("shop", "plain")
    traffic = {key: TrafficReport(2, 1, 50, 0.25)}
    report = RouterReport("r-1", TableVersion("c-1", 7), frozenset({"i-9"}), traffic, {key: ShareReport(5, 9)}, 4)
    assert RouterReport.read(json.loads(json.dumps(report.json()))) == report
    answer = ReportAnswer(12, 3, 4, {key: 4})
    assert ReportAnswer.read(json.loads(json.dumps(answer.json()))) == answer


def test_a_variant_that_was_never_called_has_been_idle_for_long_also_in_json() -> None:
    report = RouterReport("r-1", None, frozenset(), {("shop", "plain"): TrafficReport(idle_s=inf)}, {}, 0)
    text = json.dumps(report.json(), allow_nan=False)
    assert RouterReport.read(json.loads(text)).traffic["shop", "plain"].idle_s > 1e6
