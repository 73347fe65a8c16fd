"""The reader turns the endpoint's own pages back into the same records."""

import json
from dataclasses import replace
from typing import Any, cast

import pytest

from torpor_container import wire
from torpor_container.typed_json import read, written
from torpor_endpoint.core.pages.costs import Costs, FaceUse, OtherModels, SizeCostsRow, VariantCostsRow
from torpor_endpoint.core.pages.state import (
    ContainerState,
    DecisionRow,
    EndpointState,
    InstanceState,
    ResidentModel,
    RetiredModel,
    VariantState,
    VariantTraffic,
    container_page,
    decision_page,
    decisions_page,
    endpoint_page,
    endpoints_page,
    instance_page,
    read_decisions,
    read_endpoints,
    read_retired,
    retired_page,
    share_of,
    variant_page,
)
from torpor_endpoint.core.pricing.alternatives import PricedAlternative
from torpor_endpoint.core.pricing.costs import ModelCosts

MODEL: wire.LoadedModel = {
    "name": "a.tar.gz",
    "size_bytes": 7,
    "in_flight": 1,
    "idle_s": 0.5,
    "format": "onnx",
    "hits": 3,
}
STATUS: wire.InstanceStatus = {
    "unready": None,
    "fault": None,
    "kept": True,
    "models": [MODEL],
    "budget_bytes": 100,
    "used_bytes": 50,
    "waiting": 0,
    "disk_bytes": 9,
    "disk_budget_bytes": 90,
    "cpu_s": 1.0,
    "decisions": [],
    "last_seq": 0,
}


def sent(page: dict[str, Any]) -> dict[str, Any]:
    """The page as its reader gets it."""
    received: dict[str, Any] = json.loads(json.dumps(page))
    return received


def page_of(*endpoints: dict[str, Any], after: str = "") -> dict[str, Any]:
    received: dict[str, Any] = json.loads(endpoints_page([json.dumps(one).encode() for one in endpoints], after))
    return received


def test_a_page_says_where_the_next_one_begins() -> None:
    assert page_of() == {"endpoints": []}
    found = page_of(endpoint_page("a", None, []), endpoint_page('b"', None, []), after='b"')
    assert ([one["name"] for one in found["endpoints"]], found["next"]) == (["a", 'b"'], 'b"')


@pytest.mark.parametrize(
    ("asked", "containers", "listed"), [(100, 1, 100), (10**6, 1, 10_000), (100, 1000, 10), (100, 10**6, 1), (0, 5, 0)]
)
def test_containers_have_equal_shares_of_an_endpoints_models(asked: int, containers: int, listed: int) -> None:
    assert share_of(asked, containers) == listed


def test_an_endpoint_is_read_back_with_its_instances_and_their_models() -> None:
    instances = [
        instance_page("i-1", "v-0", 1, [("before", None), ("xgb", STATUS)]),
        instance_page("i-2", "v-1", 0, [("primary", None)]),
    ]
    variant = variant_page(
        "v", weight=2.0, wanted=2, leaving=1, held=4, instances=instances, shadow=True, traffic=VariantTraffic(7, 1)
    )
    (found,) = read_endpoints(page_of(endpoint_page("houses", None, [variant])))
    model = ResidentModel("a.tar.gz", 7, 1, 0.5, "onnx", 3)
    containers = (ContainerState("before"), ContainerState("xgb", 100, 50, 9, 90, (model,), 1))
    first = InstanceState("i-1", "v-0", 1, containers)
    both = (first, InstanceState("i-2", "v-1", 0, (ContainerState("primary"),)))
    assert (first.models, first.budget_bytes) == ((replace(model, instance="i-1"),), 100)
    assert (first.used_bytes, first.disk_bytes, first.disk_budget_bytes) == (50, 9, 90)
    assert found == EndpointState(
        "houses", (VariantState("v", 2, 4, both, 2.0, 1, True, traffic=VariantTraffic(7, 1)),)
    )


def test_a_page_lists_the_models_that_were_called_last_and_counts_all() -> None:
    idle = cast(
        list[wire.LoadedModel], [{**MODEL, "name": f"m{number}", "idle_s": (number * 7) % 10} for number in range(10)]
    )
    page = container_page("xgb", {**STATUS, "models": idle}, 3)
    assert ([model["name"] for model in page["models"]], page["model_count"]) == (["m0", "m3", "m6"], 10)
    nothing = container_page("xgb", {**STATUS, "models": idle}, 0)
    assert (nothing["models"], nothing["model_count"]) == ([], 10)


def test_an_endpoint_in_trouble_has_the_reason() -> None:
    (found,) = read_endpoints(page_of(endpoint_page("houses", "its image is not known", [])))
    assert found.trouble == "its image is not known"


def test_decisions_are_read_back_oldest_first_with_their_instances() -> None:
    late, early = (wire.DecisionRecord(seq=1, at_s=at_s, model="a", action="load") for at_s in (2.0, 1.0))
    written = decisions_page([decision_page(one, "i-1", "xgb") for one in (late, early)])
    assert read_decisions(sent(written)) == [DecisionRow(at_s, "a", "load", instance="i-1/xgb") for at_s in (1.0, 2.0)]


def test_a_retired_model_is_read_back_with_its_instance() -> None:
    page = retired_page("houses", "v", "i-1", {"model": "a", "was": "resident", "in_flight": 2})
    assert read_retired(sent({"instances": [page]})) == [RetiredModel("houses", "v", "i-1", "resident", 2)]


def test_costs_are_read_back_as_written_and_members_of_a_newer_endpoint_are_ignored() -> None:
    variant = VariantCostsRow(
        *("houses", "v", 3, 1, 0, 0.5, 1.5, 0.25),
        sizes=(SizeCostsRow("ml.m5.large", 3600.0, 0.0, 10, 1.5, 0.25),),
        models=(ModelCosts("a", 2, 1, 0, 0.4, 1.0),),
        others=OtherModels(1, 1, 0, 0, 0.1, None),
        on_aws=(PricedAlternative("always on", None, "nothing"),),
        faces=(FaceUse("grpc", 2, 1, 0, 0.5, 0.25, 0.5),),
    )
    costs = Costs(0.0, 3600.0, "2026-01-01", "a list", "storage", (variant,))
    assert read(Costs, sent({**written(costs), "currency": "USD"})) == costs
