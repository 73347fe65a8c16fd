"""The metrics of the fleet that an update deployed, which alarms of rollbacks name by its endpoint configuration."""

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, one
from tests.endpoint.helpers.model_artifacts import booster, packed, put
from tests.endpoint.services.helpers.in_memory_control_plane import InMemoryControlPlane, production
from tests.helpers.metric_pages import written
from torpor_account.metrics.metrics import METRICS
from torpor_account.metrics.registry import MetricRegistry
from torpor_endpoint.dashboard.figures import by_variant
from torpor_endpoint.runtime.observing.meter import AlikeRequests, Meters

SAMPLES = AlikeRequests(1, 200, None, [0.1, 0.2], [0.01, 0.02])


def metered(*configs: str) -> MetricRegistry:
    """Two requests of each configuration; the empty one is that of CreateEndpoint."""
    registry = MetricRegistry(lambda: 60.0)
    meters = Meters(registry)
    for config in configs:
        meters.add("ep", "v", SAMPLES._replace(deployed_by=config), 60.0)
    return registry


def counts(registry: MetricRegistry, name: str) -> dict[tuple[tuple[str, str], ...], float]:
    return {series.key.dimensions: series.total().count for series in registry.find("AWS/SageMaker", name)}


def test_requests_to_a_fleet_of_an_update_count_for_the_variant_and_for_its_configuration() -> None:
    registry = metered("", "new", "newer", "new")
    of_variant = (("EndpointName", "ep"), ("VariantName", "v"))
    for name in ("Invocations", "Invocation5XXErrors", "ModelLatency", "OverheadLatency"):
        assert counts(registry, name) == {
            of_variant: 8,
            (("EndpointConfigName", "new"), *of_variant): 4,
            (("EndpointConfigName", "newer"), *of_variant): 2,
        }


def test_an_endpoint_that_was_never_updated_has_no_series_of_a_configuration() -> None:
    assert len(counts(metered(""), "Invocations")) == 1


def test_prometheus_and_the_dashboard_count_each_request_once() -> None:
    registry = metered("", "new")
    page = written(registry, {"ep"})
    assert 'torpor_invocations_total{endpoint_name="ep",variant_name="v"} 4.0' in page
    assert sum(line.startswith("torpor_invocations_total{") for line in page.splitlines()) == 1
    (shown,) = by_variant(registry.find("AWS/SageMaker", "Invocations")).values()
    assert shown.total().count == 4
    assert len(METRICS) == len({(metric.namespace, metric.name, metric.dimensions) for metric in METRICS})


def test_an_update_names_its_configuration_and_a_change_of_weights_names_none() -> None:
    control = InMemoryControlPlane()
    control.create()
    control.settle("ep")
    weights = [{"VariantName": "AllTraffic", "DesiredWeight": 2.0}]
    control("UpdateEndpointWeightsAndCapacities", EndpointName="ep", DesiredWeightsAndCapacities=weights)
    control.settle("ep")
    assert deployed_by(control) == ""
    control.configure("new", production())
    control("UpdateEndpoint", EndpointName="ep", EndpointConfigName="new")
    assert deployed_by(control) == ""
    control.settle("ep")
    assert deployed_by(control) == "new"
    control("UpdateEndpointWeightsAndCapacities", EndpointName="ep", DesiredWeightsAndCapacities=weights)
    control.settle("ep")
    assert deployed_by(control) == "new"
    control.close()


def deployed_by(control: InMemoryControlPlane) -> str:
    endpoint = control.store.endpoint("ep")
    assert endpoint is not None
    return endpoint.variants[0].deployed_by


def test_cloudwatch_has_the_new_fleet_with_its_configuration_after_an_update(live: LiveEndpoint) -> None:
    put(live.folder("deployed"), {"a.tar.gz": packed({"model.json": booster()})})
    variant = Variant(one("deployed/a.tar.gz"), "v")
    live.deploy("deployed", variant)
    live.invoke("deployed", b"1,2,3,4")
    live.sagemaker.create_endpoint_config(
        EndpointConfigName="deployed-new", ProductionVariants=[variant.production("deployed-v")]
    )
    live.sagemaker.update_endpoint(EndpointName="deployed", EndpointConfigName="deployed-new")
    live.settled("deployed")
    live.invoke("deployed", b"1,2,3,4")
    assert invocations(live) == 2
    assert invocations(live, EndpointConfigName="deployed-new") == 1
    assert invocations(live, EndpointConfigName="deployed") == 0


def invocations(live: LiveEndpoint, **further: str) -> float:
    dimensions = {"EndpointName": "deployed", "VariantName": "v", **further}
    now = datetime.now(UTC)
    answer: dict[str, Any] = live.cloudwatch.get_metric_statistics(
        Namespace="AWS/SageMaker",
        MetricName="Invocations",
        Dimensions=[{"Name": name, "Value": value} for name, value in dimensions.items()],
        StartTime=now - timedelta(minutes=10),
        EndTime=now + timedelta(minutes=1),
        Period=60,
        Statistics=["Sum"],
    )
    return float(sum(point["Sum"] for point in answer["Datapoints"]))
