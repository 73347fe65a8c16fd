"""A shadow variant gets copies of requests. Callers get the production variant's answers, whatever the shadow does."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.endpoint.helpers import endpoint_pages
from tests.endpoint.helpers.constant_models import constant, number_of, sleeper
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many, one
from tests.endpoint.helpers.model_artifacts import put, script
from tests.endpoint.runtime.conftest import RAISING
from tests.endpoint.services.helpers.variant_metrics import summed
from tests.helpers.thorough_values import thorough
from tests.helpers.waiting import soon, until

HANGS_S = b"8"
"""What a sleeping script waits for, in seconds: much longer than any answer of the production variant."""
ANSWERED_S = 4.0
SLEEPS: dict[str, Any] = {
    "InstanceType": "ml.m5.large",
    "ManagedInstanceScaling": {"Status": "ENABLED", "MinInstanceCount": 0, "MaxInstanceCount": 1},
}
ONE_AT_A_TIME: dict[str, Any] = {"ServerlessConfig": {"MemorySizeInMB": 1024, "MaxConcurrency": 1}}
EXITING = RAISING.replace('raise ValueError(f"no such house: {body}")', "__import__('os')._exit(3)")


@pytest.fixture(scope="module")
def bucket(live: LiveEndpoint) -> str:
    """A bucket with models that answer 1 and 2, that raise, that end their process, and that sleep."""
    scripts = {"raising.tar": script(RAISING), "exiting.tar": script(EXITING), "sleeper.tar": sleeper()}
    put(live.folder("shadows"), {"models/one.tar": constant(1.0), "models/two.tar": constant(2.0)})
    put(live.folder("shadows"), {f"models/{name}": body for name, body in scripts.items()})
    put(live.folder("shadows"), {"new/one.tar": constant(11.0), "new/two.tar": constant(12.0)})
    return "shadows"


def shadow_of(model: str, environment: dict[str, str] | None = None, **more: Any) -> Variant:
    return Variant(one(f"shadows/models/{model}", environment), "New", shadow=True, **more)


def deployed(live: LiveEndpoint, name: str, shadow: Variant) -> str:
    """An endpoint whose one production variant answers 1."""
    return live.deploy(name, Variant(one("shadows/models/one.tar")), shadow)


def called(live: LiveEndpoint, name: str, times: int = 3, body: bytes = b"1", **members: Any) -> None:
    """Calls the endpoint: each answer is the production variant's, and comes in time."""
    for _ in range(times):
        answer = live.invoke(name, body, **members)
        assert (number_of(answer), answer["InvokedProductionVariant"]) == (1.0, "AllTraffic")


def test_each_variant_counts_its_own_requests(live: LiveEndpoint, bucket: str) -> None:
    name = deployed(live, "Shadowed", shadow_of("two.tar"))
    called(live, name)
    assert soon(lambda: summed(live, name, "New", "Invocations") == 3)
    assert summed(live, name, "AllTraffic", "Invocations") == 3
    variants = {variant["name"]: variant for variant in live.shown(name)}
    assert variants["New"]["shadow"] is True
    assert "shadow" not in variants["AllTraffic"]
    rows = endpoint_pages.page(live, "costs", endpoint=name)["variants"]
    counted = {row["variant"]: (row["shadow"], row["requests"]) for row in rows}
    assert counted == {"AllTraffic": (False, 3), "New": (True, 3)}


@pytest.mark.parametrize("model", ["raising.tar", *thorough("exiting.tar")])
def test_a_shadow_that_fails_counts_its_errors_and_costs_no_caller_an_answer(
    live: LiveEndpoint, bucket: str, model: str
) -> None:
    name = deployed(live, f"Failing-{model.partition('.')[0]}", shadow_of(model))
    called(live, name)
    assert soon(lambda: summed(live, name, "New", "InvocationModelErrors") == 3, 60)
    assert summed(live, name, "AllTraffic", "InvocationModelErrors") == 0


def test_no_caller_waits_for_a_shadow_that_hangs(live: LiveEndpoint, bucket: str) -> None:
    name = deployed(live, "Hanging", shadow_of("sleeper.tar"))
    called(live, name, body=HANGS_S)
    (new,) = [variant for variant in live.shown(name) if variant["name"] == "New"]
    assert sum(instance["in_flight"] for instance in new["instances"]) == 3
    assert summed(live, name, "New", "Invocations") == 0


def test_a_shadow_that_sleeps_is_woken_by_a_copy_and_no_caller_waits(live: LiveEndpoint, bucket: str) -> None:
    name = deployed(live, "Asleep", shadow_of("two.tar", {"TORPOR_IDLE_SECONDS": "1"}, members=SLEEPS))
    until(lambda: not shadow_instances(live, name), 60)
    called(live, name, 1)
    assert soon(lambda: summed(live, name, "New", "Invocations") == 1, 60)


def test_copies_beyond_the_limit_of_the_shadow_are_dropped_and_counted(live: LiveEndpoint, bucket: str) -> None:
    name = deployed(live, "Limited", shadow_of("sleeper.tar", members=ONE_AT_A_TIME))
    called(live, name, 4, body=HANGS_S)
    assert summed(live, name, "New", "ShadowCopiesDropped", "Torpor") == 3
    assert summed(live, name, "AllTraffic", "ShadowCopiesDropped", "Torpor") == 0


def test_a_caller_cannot_name_a_shadow_variant(live: LiveEndpoint, bucket: str) -> None:
    name = deployed(live, "Hidden", shadow_of("two.tar"))
    with pytest.raises(ClientError, match="has no production variant New: choose one of AllTraffic"):
        live.invoke(name, b"1", TargetVariant="New")
    called(live, name, 1, TargetVariant="AllTraffic")


def test_a_multi_model_shadow_answers_for_the_same_target_model(live: LiveEndpoint, bucket: str) -> None:
    new = Variant(many("shadows/new"), "New", shadow=True)
    name = live.deploy("Many", Variant(many("shadows/models")), new)
    assert number_of(live.invoke(name, b"1", TargetModel="two.tar")) == 2.0
    assert soon(lambda: summed(live, name, "New", "Invocations") == 1)
    (instance,) = shadow_instances(live, name)
    assert [model["name"] for model in instance["containers"][0]["models"]] == ["two.tar"]
    assert live.invoke(name, b"0", TargetModel="sleeper.tar")["Body"]  # the shadow's prefix has no such model
    assert soon(lambda: summed(live, name, "New", "ShadowCopiesDropped", "Torpor") == 1)


def test_a_large_body_reaches_the_shadow_whole(live: LiveEndpoint, bucket: str) -> None:
    name = deployed(live, "Large", shadow_of("two.tar"))
    rows = b"1\n" * 200_000
    assert live.invoke(name, rows)["Body"].count(b"1.0") == 200_000
    assert soon(lambda: summed(live, name, "New", "Invocations") == 1)
    assert summed(live, name, "New", "InvocationModelErrors") == 0


def test_the_weight_sets_the_share_and_an_update_changes_it(live: LiveEndpoint, bucket: str) -> None:
    none = {"InstanceType": "ml.m5.large", "InitialVariantWeight": 0.0}
    name = deployed(live, "Weighted", shadow_of("two.tar", members=none))
    called(live, name)
    weights = [{"VariantName": "New", "DesiredWeight": 1.0}]
    live.sagemaker.update_endpoint_weights_and_capacities(EndpointName=name, DesiredWeightsAndCapacities=weights)
    described = live.settled(name)
    assert [one["CurrentWeight"] for one in described["ShadowProductionVariants"]] == [1.0]
    called(live, name, 2)
    assert soon(lambda: summed(live, name, "New", "Invocations") == 2)


def test_an_update_promotes_the_shadow_with_its_instances(live: LiveEndpoint, bucket: str) -> None:
    name = deployed(live, "Promoted", shadow_of("two.tar"))
    (before,) = shadow_instances(live, name)
    promoted = shadow_of("two.tar").production(f"{name}-New")
    live.sagemaker.create_endpoint_config(EndpointConfigName="promotes-new", ProductionVariants=[promoted])
    live.sagemaker.update_endpoint(EndpointName=name, EndpointConfigName="promotes-new")
    assert "ShadowProductionVariants" not in live.settled(name)
    assert number_of(live.invoke(name, b"1")) == 2.0
    assert endpoint_pages.instance(live, name)["id"] == before["id"]
    rows = endpoint_pages.page(live, "costs", endpoint=name)["variants"]
    roles = [(row["shadow"], row["requests"]) for row in rows if row["variant"] == "New"]
    assert roles == [(False, 1), (True, 0)]  # its instance cost money in both roles


def shadow_instances(live: LiveEndpoint, name: str) -> list[dict[str, Any]]:
    return [instance for variant in live.shown(name) if variant.get("shadow") for instance in variant["instances"]]
