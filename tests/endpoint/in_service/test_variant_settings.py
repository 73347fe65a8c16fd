"""The variables of a model's Environment that the endpoint acts on: read once, as the instance reads them."""

import time
from dataclasses import fields

import pytest

from tests.endpoint.helpers.fake_host import FakeHost
from tests.endpoint.helpers.virtual_time import run
from torpor_container.settings import DEFAULTS, Settings
from torpor_endpoint.core.resource_records import Container, Variant
from torpor_endpoint.fleet.deployment import Deployment
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.variant_change import DeploymentFailed
from torpor_endpoint.host import LaunchSpec
from torpor_endpoint.in_service.variant_settings import TimeLimits, VariantSettings

SET = {
    "TORPOR_KEEP_ALIVE": "histogram",
    "TORPOR_IDLE_SECONDS": "90",
    "TORPOR_CONCURRENCY": "2",
    "TORPOR_READY_WAIT_SECONDS": "7",
    "TORPOR_INVOCATION_TIMEOUT_SECONDS": "2.5",
}


@pytest.mark.parametrize("environment", [{}, SET])
def test_the_endpoint_and_the_instance_read_a_setting_alike(environment: dict[str, str]) -> None:
    of_instance = Settings.read(environment)
    for read in (VariantSettings.read([Container("torpor", environment=environment)]), TimeLimits.read(environment)):
        assert all(getattr(read, field.name) == getattr(of_instance, field.name) for field in fields(read))


def test_an_instance_has_its_time_to_load_and_then_to_predict() -> None:
    assert TimeLimits.read({}).answer_within_s == 120.0
    assert TimeLimits.read(SET).answer_within_s == 9.5


def test_any_container_may_give_a_setting_of_the_variant() -> None:
    containers = [Container("torpor"), Container("torpor", environment=SET)]
    assert VariantSettings.read(containers) == VariantSettings(
        "histogram", 90.0, 2, DEFAULTS.versions_poll_s, DEFAULTS.update
    )


def start(live: FleetEndpoint, environment: dict[str, str]) -> None:
    """Start the endpoint as after a restart, with one variant of this Environment."""
    variant = Variant("v", "m", (Container("torpor", environment=environment),), instances_min=0)

    async def story() -> None:
        with FakeHost() as host:
            deployment = Deployment(live, InstanceFactory(host, lambda variant, slot: LaunchSpec(slot), time.time))
            deployment.start([variant])

    run(story())


def test_a_pool_has_the_settings_of_its_variant() -> None:
    live = FleetEndpoint("shop", "arn")
    start(live, SET)
    pool = live.pools["v"]
    assert pool.settings == VariantSettings("histogram", 90.0, 2, DEFAULTS.versions_poll_s, DEFAULTS.update)
    assert pool.answer_within_s == [9.5]


def test_a_stored_environment_that_cannot_be_read_is_the_endpoint_s_trouble() -> None:
    live = FleetEndpoint("shop", "arn")
    with pytest.raises(DeploymentFailed):
        start(live, {"TORPOR_CONCURRENCY": "few"})
    assert live.pools == {}
    assert "variant v cannot be read: TORPOR_CONCURRENCY='few': must be a whole number" in str(live.trouble)
