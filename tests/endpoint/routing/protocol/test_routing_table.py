"""The messages between a control and its routers: whatever is said is heard as it was said."""

import json
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import pytest

from torpor_container.transport.address import Address, GuardedAddress
from torpor_endpoint.core.resource_records import AsyncInference, Container, CopyNeeds, DataCapture, Serverless, Variant
from torpor_endpoint.core.routing.table_differences import Differences, TableVersion
from torpor_endpoint.core.traffic import TrafficReport
from torpor_endpoint.host import Launched, Phase, Slot
from torpor_endpoint.in_service.incarnation import StartTrouble
from torpor_endpoint.routing.protocol.router_report import (
    ReportAnswer,
    ReportedVariant,
    RouterReport,
    ShareReport,
)
from torpor_endpoint.routing.protocol.routing_table import (
    EndpointRow,
    InstanceRow,
    RoutedEndpoint,
    RoutedInstance,
    RoutedVariant,
    RoutingTable,
    TableRow,
    table_text,
)

CONTAINERS = (Container("torpor", "s3://b/p/", multi_model=True, environment={"A": "1"}), Container("x", name="last"))
VARIANTS = (
    Variant("plain", "m", CONTAINERS, weight=0.5, instance_type="ml.m5.large", direct=True),
    Variant("serverless", "m", CONTAINERS[:1], serverless=Serverless(1024, 20, 2)),
    Variant("shadow", "m", CONTAINERS[:1], shadow=True, capture=DataCapture("s3://b/c", 50, csv_types=("text/csv",))),
    Variant("waiting", "m", CONTAINERS[:1], asynchronous=AsyncInference("s3://b/out", responses_in=("SUCCESS",))),
    Variant("shelf", "", (), instance_type="ml.m5.large", instances_min=0, instances_max=2),
    Variant("component.one", "m", CONTAINERS[:1], weight=0.25, copies=CopyNeeds("one", "shelf", 512, 1024, cores=0.5)),
)
ADDRESSES: tuple[Address, ...] = (
    "/run/i-1",
    ("10.0.0.7", 8080),
    GuardedAddress("10.0.0.8", 8081, bytes(range(32))),
    GuardedAddress("10.0.0.8", 8081, bytes(range(32)), "i-1.instance.0a1b.torpor.internal"),
)


IN_JSON: tuple[dict[str, object], ...] = (
    {"socket": "/run/i-1"},
    {"host": "10.0.0.7", "port": 8080},
    {"host": "10.0.0.8", "port": 8081, "secret": bytes(range(32)).hex()},
    {
        "host": "10.0.0.8",
        "port": 8081,
        "secret": bytes(range(32)).hex(),
        "certified": "i-1.instance.0a1b.torpor.internal",
    },
)


def launches(variant: str, address: Address, **known: Any) -> tuple[Launched, ...]:
    """An instance of two containers in the slot 3. `known` is what its host knows besides."""
    first = Slot("shop", variant, 3)
    return (
        Launched(first, "i-1", address, Phase.RUNNING, **known),
        Launched(replace(first, container=1), "i-2", "/run/i-2", Phase.RUNNING, **known),
    )


@pytest.mark.parametrize(("address", "in_json"), list(zip(ADDRESSES, IN_JSON, strict=True)), ids=str)
def test_a_router_is_told_where_an_instance_listens_and_not_what_its_host_knows(
    address: Address, in_json: dict[str, object]
) -> None:
    known = {"log": Path("/data/logs/i-1.log"), "since_s": 1.0, "configuration": "abc"}
    row = InstanceRow(RoutedInstance("shop", "plain", False, "i-1", launches("plain", address, **known)))
    containers = [{"id": "i-1", **in_json}, {"id": "i-2", "socket": "/run/i-2"}]
    place = {"endpoint": "shop", "variant": "plain", "coming": False}
    assert json.loads(row.text) == {**place, "slot": 3, "id": "i-1", "containers": containers}


@pytest.mark.parametrize("address", ADDRESSES, ids=str)
def test_a_table_is_read_as_it_was_written(address: Address) -> None:
    trouble = StartTrouble("no room", 3, False, ("primary",))
    variants = [RoutedVariant(variant, 2, trouble, {}) for variant in VARIANTS]
    endpoint = RoutedEndpoint(
        "shop", "arn:shop", "its image is unknown", tuple(variants), tuple(variants)[:1], {"plain": 0.25}
    )
    endpoints, version = (endpoint, RoutedEndpoint("empty", "arn:empty", None, ())), TableVersion("c-1", 7)
    instances = tuple(
        RoutedInstance("shop", one, one == "shadow", one, launches(one, address)) for one in ("plain", "shadow")
    )
    rows: dict[str, TableRow] = {one.key: InstanceRow(one) for one in instances}
    rows |= {one.name: EndpointRow(one) for one in endpoints}
    for since, gone in ((None, ()), (5, ("old", "shop/i-9"))):
        told = Differences(version, since, rows, gone)
        found = RoutingTable.read(json.loads(table_text(told)))
        assert found == RoutingTable(version, endpoints, since, gone, instances)


def test_a_report_and_its_answer_are_read_as_they_were_written() -> None:
    key, other = ("shop", "plain"), ("shop", "serverless")
    traffic, share = TrafficReport(2, 1, 50, 0.25), ShareReport(5, 9)
    rows = {key: ReportedVariant(traffic), other: ReportedVariant(traffic, share)}
    held = frozenset({"i-9", "i-8"}), frozenset({"i-9"})
    for since, gone in ((None, ()), (3, (("gone", "v"),))):
        variants = Differences(TableVersion("r-1", 4), since, rows, gone)
        report = RouterReport("r-1", 9, 8, TableVersion("c-1", 7), *held, 4, variants)
        assert RouterReport.read(json.loads(json.dumps(report.json()))) == report
    answer = ReportAnswer(12, 3, 4, {key: 4}, whole=True)
    assert ReportAnswer.read(json.loads(json.dumps(answer.json()))) == answer


def test_a_variant_that_was_never_called_has_been_idle_for_long_also_in_json() -> None:
    rows = {("shop", "plain"): ReportedVariant(TrafficReport(idle_s=inf))}
    variants = Differences(TableVersion("r-1", 1), None, rows)
    report = RouterReport("r-1", 1, 0, None, frozenset(), frozenset(), 0, variants)
    text = json.dumps(report.json(), allow_nan=False)
    assert RouterReport.read(json.loads(text)).variants.rows["shop", "plain"].traffic.idle_s > 1e6
