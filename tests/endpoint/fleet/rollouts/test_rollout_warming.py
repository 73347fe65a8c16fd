"""A new fleet loads what the old one has in memory before it gets traffic, where its settings ask for it."""

from pathlib import Path

from tests.endpoint.helpers.constant_models import constant
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import put
from tests.helpers.waiting import soon

BAKES = {
    "BlueGreenUpdatePolicy": {
        "TrafficRoutingConfiguration": {
            "Type": "CANARY",
            "WaitIntervalInSeconds": 3600,
            "CanarySize": {"Type": "CAPACITY_PERCENT", "Value": 1},
        }
    }
}


def test_the_green_fleet_has_the_models_of_the_blue_one_before_its_first_call(tmp_path: Path) -> None:
    with LiveEndpoint(tmp_path) as live:
        put(live.folder("shop"), {f"models/{name}.tar": constant(1.0) for name in ("a", "b", "never-called")})
        live.deploy("shop", Variant(many("shop/models")))
        for name in ("a.tar", "b.tar"):
            live.invoke("shop", b"1", TargetModel=name)
        new = Variant(many("shop/models", {"TORPOR_ROLLOUT_WARM": "true"}))
        live.sagemaker.create_model(ModelName="new", **new.model())
        live.sagemaker.create_endpoint_config(EndpointConfigName="new", ProductionVariants=[new.production("new")])
        live.sagemaker.update_endpoint(EndpointName="shop", EndpointConfigName="new", DeploymentConfig=BAKES)

        def loaded() -> list[str]:
            green = [variant for variant in live.shown("shop") if variant["name"] == "AllTraffic/coming"]
            containers = [one for variant in green for found in variant["instances"] for one in found["containers"]]
            return sorted(model["name"] for one in containers for model in one["models"])

        assert soon(lambda: loaded() == ["a.tar", "b.tar"], 60)
