"""To zero and back: nothing runs without calls, a call wakes the endpoint, and many callers cause one wake."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.endpoint.helpers import endpoint_pages
from tests.endpoint.helpers.constant_models import constant, number_of
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many, one
from tests.endpoint.helpers.model_artifacts import put
from tests.helpers.thorough_values import thorough
from tests.helpers.waiting import soon

SLEEPS: dict[str, dict[str, Any]] = {
    "serverless": {"ServerlessConfig": {"MemorySizeInMB": 1024, "MaxConcurrency": 100}},
    "to-zero": {
        "InstanceType": "ml.m5.large",
        "ManagedInstanceScaling": {"Status": "ENABLED", "MinInstanceCount": 0, "MaxInstanceCount": 2},
    },
}


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveEndpoint]:
    """One on which nothing else runs, so that no process at all is left at zero."""
    with LiveEndpoint(tmp_path_factory.mktemp("sleep")) as live:
        yield live


@pytest.fixture(scope="module", params=["serverless", *thorough("to-zero")], ids=str)
def sleepy(own: LiveEndpoint, request: pytest.FixtureRequest) -> Iterator[tuple[LiveEndpoint, str]]:
    """An endpoint that goes to sleep after a second."""
    name: str = request.param
    put(own.folder(name), {"models/a.tar": constant(5.0)})
    container = many(f"{name}/models", {"TORPOR_IDLE_SECONDS": "1"})
    yield own, own.deploy(name, Variant(container, members=SLEEPS[name]))
    own.sagemaker.delete_endpoint(EndpointName=name)
    assert soon(lambda: not endpoint_pages.forked(own))


def asleep(live: LiveEndpoint, name: str) -> bool:
    return endpoint_pages.asleep(live, name) and not endpoint_pages.forked(live)


def test_a_call_wakes_a_sleeping_endpoint_with_its_disk_tier_intact(sleepy: tuple[LiveEndpoint, str]) -> None:
    live, name = sleepy
    slots = []
    for _ in range(2):
        assert asleep(live, name)
        assert number_of(live.invoke(name, b"1", TargetModel="a.tar")) == 5.0
        slots.append(endpoint_pages.instance(live, name)["slot"])
    assert slots[0] == slots[1]
    actions = [record["action"] for record in endpoint_pages.decisions(live, name, "a.tar")]
    of_forms = {"not-mapped"}  # told in the first wake, unless the endpoint slept before it was found out
    assert [action for action in actions if action not in of_forms] == ["found", "load", "loaded"]


def test_fifty_callers_make_one_wake(sleepy: tuple[LiveEndpoint, str]) -> None:
    live, name = sleepy
    assert asleep(live, name)
    with ThreadPoolExecutor(50) as threads:
        calls = [threads.submit(live.invoke, name, b"1", TargetModel="a.tar") for _ in range(50)]
        assert {number_of(call.result(60.0)) for call in calls} == {5.0}
    assert len(endpoint_pages.forked(live)) == 1


def test_an_update_of_a_sleeping_endpoint_completes(sleepy: tuple[LiveEndpoint, str]) -> None:
    live, name = sleepy
    assert asleep(live, name)
    live.sagemaker.update_endpoint_weights_and_capacities(
        EndpointName=name, DesiredWeightsAndCapacities=[{"VariantName": "AllTraffic", "DesiredWeight": 2.0}]
    )
    assert live.settled(name)["EndpointStatus"] == "InService"
    assert number_of(live.invoke(name, b"1", TargetModel="a.tar")) == 5.0


def test_strictly_zero_is_refused_where_aws_has_none_and_only_serverless_wakes(tmp_path: Path) -> None:
    with LiveEndpoint(tmp_path) as lenient:
        put(lenient.folder("shop"), {"models/a.tar": constant(5.0)})
        idle = {"TORPOR_IDLE_SECONDS": "1"}
        lenient.deploy("many", Variant(many("shop/models", idle), members=SLEEPS["to-zero"]))
        lenient.deploy("one", Variant(one("shop/models/a.tar", idle), members=SLEEPS["serverless"]))
    with LiveEndpoint(tmp_path, "--aws-strict") as live:
        for name in SLEEPS:
            with pytest.raises(ClientError, match="ValidationException"):
                live.create(name, Variant(many("shop/models"), members=SLEEPS[name]))
        assert number_of(live.invoke("one", b"1")) == 5.0
        assert soon(lambda: not endpoint_pages.forked(live), 60)
        with pytest.raises(ClientError, match="has no capacity to process this request"):
            live.invoke("many", b"1", TargetModel="a.tar")
        assert number_of(live.invoke("one", b"1")) == 5.0
