"""Shadow variants of endpoint configurations and endpoints: how they are checked and described."""

from typing import Any

import pytest

from tests.endpoint.services.helpers.in_memory_control_plane import MULTI_MODEL, InMemoryControlPlane, production
from torpor_endpoint.services.autoscaling.acting.scalable_variants import refusal
from torpor_endpoint.services.autoscaling.resources import INSTANCES
from torpor_endpoint.services.sagemaker.shapes import Wire


def shadowed(control_plane: InMemoryControlPlane, *shadows: Wire, **more: Any) -> dict[str, Any]:
    """The answer to CreateEndpointConfig with these shadow variants, beside one production variant."""
    variants = {"ProductionVariants": [production()], "ShadowProductionVariants": list(shadows)}
    return control_plane("CreateEndpointConfig", EndpointConfigName="shadowed", **{**variants, **more})


@pytest.fixture(autouse=True)
def _model(control_plane: InMemoryControlPlane, strict_control_plane: InMemoryControlPlane) -> None:
    for each in (control_plane, strict_control_plane):
        each("CreateModel", ModelName="ep", PrimaryContainer=MULTI_MODEL)


def test_a_configuration_repeats_its_shadow_variant_with_the_default_weight(
    strict_control_plane: InMemoryControlPlane,
) -> None:
    new = production(VariantName="new")
    shadowed(strict_control_plane, new)
    described = strict_control_plane("DescribeEndpointConfig", EndpointConfigName="shadowed")
    assert described["ProductionVariants"] == [{**production(), "InitialVariantWeight": 1.0}]
    assert described["ShadowProductionVariants"] == [{**new, "InitialVariantWeight": 1.0}]


@pytest.mark.parametrize(
    ("shadows", "more"),
    [
        ([production(VariantName="new"), production(VariantName="newer")], {}),
        ([production(VariantName="new")], {"ProductionVariants": [production(), production(VariantName="other")]}),
    ],
    ids=["two shadow variants", "two production variants"],
)
def test_strict_mode_takes_one_production_and_one_shadow_variant(
    control_plane: InMemoryControlPlane,
    strict_control_plane: InMemoryControlPlane,
    shadows: list[Wire],
    more: dict[str, Any],
) -> None:
    config = {"EndpointConfigName": "c", "ProductionVariants": [production()], "ShadowProductionVariants": shadows}
    code, _, message = strict_control_plane.refusal("CreateEndpointConfig", **{**config, **more})
    assert (code, "only specify one variant" in message) == ("ValidationException", True)
    assert "EndpointConfigArn" in shadowed(control_plane, *shadows, **more)


def test_an_endpoint_describes_its_shadow_variant_apart(control_plane: InMemoryControlPlane) -> None:
    shadowed(control_plane, production(VariantName="new", InitialVariantWeight=0.5))
    control_plane("CreateEndpoint", EndpointName="ep", EndpointConfigName="shadowed")
    control_plane.settle("ep")
    control_plane.ready = {"AllTraffic": 1, "new": 1}
    described = control_plane.describe()
    assert [one["VariantName"] for one in described["ProductionVariants"]] == ["AllTraffic"]
    (new,) = described["ShadowProductionVariants"]
    assert (new["VariantName"], new["CurrentWeight"], new["CurrentInstanceCount"]) == ("new", 0.5, 1)


def test_an_update_shows_the_pending_shadow_variant(control_plane: InMemoryControlPlane) -> None:
    control_plane.configure("plain", production())
    control_plane("CreateEndpoint", EndpointName="ep", EndpointConfigName="plain")
    control_plane.settle("ep")
    shadowed(control_plane, production(VariantName="new"))
    control_plane("UpdateEndpoint", EndpointName="ep", EndpointConfigName="shadowed")
    pending = control_plane.describe()["PendingDeploymentSummary"]
    assert [one["VariantName"] for one in pending["ShadowProductionVariants"]] == ["new"]
    assert control_plane.describe()["ShadowProductionVariants"] == []


def test_a_shadow_variant_may_be_a_scalable_target(control_plane: InMemoryControlPlane) -> None:
    shadowed(control_plane, production(VariantName="new"))
    control_plane("CreateEndpoint", EndpointName="ep", EndpointConfigName="shadowed")
    assert refusal(control_plane.store, strict=True)("endpoint/ep/variant/new", INSTANCES, 1) is None
