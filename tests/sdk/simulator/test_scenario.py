"""A scenario describes a deployment in SageMaker's words; an impossible one is refused by its field."""

from math import inf, nan
from typing import Any

import numpy as np
import pytest
from botocore.session import get_session
from botocore.validate import ParamValidator

from torpor.simulator.scenario import ENVIRONMENT, OWN_BYTES, BadScenario, Scenario
from torpor_container.settings import SETTINGS, Settings
from torpor_endpoint.core.pricing.catalogue import CATALOGUE
from torpor_endpoint.core.resource_records import Serverless
from torpor_endpoint.core.scaling import InstanceRange

GIB = 1024**3
OWN = {
    "policy": "GDSF",
    "keep_alive": "histogram",
    "idle_s": 123456.75,
    "model_idle_s": 90.5,
    "model_keep_alive": "histogram",
    "loads_max": 7,
    "concurrency": 3,
    "batch_size": 8,
    "batch_delay_s": 0.0125,
    "threads": 3,
    "trees": "flat",
}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"instance_type": "ml.nope"}, "instance_type is one of the catalogue's types, as ml.m5.large, not 'ml.nope'"),
        ({"policy": "MRU"}, "policy is one of LRU, .*BELADY-SIZE, not 'MRU'"),
        ({"policy": None}, "policy is one of LRU"),
        ({"keep_alive": "forever"}, "keep_alive is one of .*fixed.*, not 'forever'"),
        ({"model_keep_alive": "never"}, "model_keep_alive is one of .*, not 'never'"),
        ({"instances": 0}, "instances is at least 1: to sleep, give instances_min=0, not 0"),
        ({"instances": 1.5}, "instances is a whole number, not 1.5"),
        ({"instances": "2"}, "instances is a whole number, not '2'"),
        ({"instances_min": -1}, "instances_min is 0 or more, not -1"),
        ({"instances_max": 3}, "instances_max goes with instances_min, not 3"),
        ({"instances_min": 3, "instances_max": 2}, "instances_max is at least instances_min, which is 3, not 2"),
        ({"idle_s": 0}, "idle_s is more than 0, not 0"),
        ({"idle_s": nan}, "idle_s is more than 0, not nan"),
        ({"model_idle_s": -2.0}, r"model_idle_s is more than 0, not -2\.0"),
        ({"wake_s": inf}, "wake_s is 0 or more, not inf"),
        ({"overhead_s": -0.1}, r"overhead_s is 0 or more, not -0\.1"),
        ({"memory_bytes": 0}, "memory_bytes is 1 or more, not 0"),
        ({"memory_bytes": "2 GB"}, "memory_bytes is a number, not '2 GB'"),
        ({"threads": 0}, "threads is 1 or more, not 0"),
        ({"processors": 0}, "processors is 1 or more, not 0"),
        ({"instances": None}, "instances is a whole number, not None"),
        ({"loads_max": None}, "loads_max is a whole number, not None"),
        ({"concurrency": None}, "concurrency is a whole number, not None"),
        ({"idle_s": None}, "idle_s is a number, not None"),
        ({"wake_s": None}, "wake_s is a number, not None"),
        ({"beside_load_s": None}, "beside_load_s is a number, not None"),
        ({"instance_type": ["ml.m5.large"]}, r"instance_type is one of .*, not \['ml\.m5\.large'\]"),
        ({"policy": ["LRU"]}, "policy is one of LRU"),
        ({"keep_alive": {}}, "keep_alive is one of "),
        ({"model_cache": "Disabled"}, "model_cache is True or False, not 'Disabled'"),
        ({"model_idle_s": "5m"}, "model_idle_s is a number, not '5m'"),
        ({"instances": True}, "instances is a whole number, not True"),
        ({"loads_max": 2.5}, "loads_max is a whole number, not 2.5"),
        ({"memory": 5}, "a scenario has no memory: it has instance_type, "),
        ({"serverless": Serverless(1000, 5)}, "serverless is a torpor.Serverless with memory_mib of 1024, 2048"),
        ({"serverless": Serverless(1024, 5, 6)}, "provisioned_concurrency of at most that"),
        ({"serverless": Serverless(1024, 5), "instances_min": 0}, "serverless excludes instances_min and asynchronous"),
    ],
)
def test_a_scenario_that_cannot_be_deployed_is_refused_by_its_field(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(BadScenario, match=told):
        Scenario().altered(**changes)


def test_numbers_may_be_numpys_and_bytes_a_float() -> None:
    assert Scenario(instances=np.int64(3)).plan.instances == 3  # type: ignore[arg-type]  # out of a loop over a range
    machine = Scenario(memory_bytes=2e9, disk_bytes=5e9).plan.machine  # type: ignore[arg-type]  # as people write it
    assert [machine.memory_bytes, machine.disk_bytes] == [2_000_000_000, 5_000_000_000]
    assert {type(machine.memory_bytes), type(machine.disk_bytes)} == {int}


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({}, "1 x ml.m5.large, LRU"),
        ({"instances": 3, "policy": "gdsf"}, "3 x ml.m5.large, GDSF"),
        ({"instances_min": 0, "instances_max": 4}, "0-4 x ml.m5.large, LRU, sleeps after 20 min"),
        ({"instances_min": 0, "idle_s": 90.0}, "0-1 x ml.m5.large, LRU, sleeps after 90 s"),
        (
            {"instances_min": 0, "keep_alive": "histogram"},
            "0-1 x ml.m5.large, LRU, sleeps after 20 min (histogram)",
        ),
        ({"instances_min": 2}, "2-2 x ml.m5.large, LRU"),
        ({"model_idle_s": 7200.0}, "1 x ml.m5.large, LRU, models rest after 2 h"),
        ({"model_cache": False}, "1 x ml.m5.large, LRU, no model cache"),
        (
            {"serverless": Serverless(1024, 20)},
            "serverless 1,024 MB, at most 20 at once, LRU, sleeps after 20 min",
        ),
        ({"serverless": Serverless(2048, 20, 2)}, "serverless 2,048 MB, at most 20 at once, 2 provisioned, LRU"),
    ],
)
def test_a_name_holds_the_differences_from_the_default(changes: dict[str, Any], name: str) -> None:
    assert Scenario(**changes).name == name


def test_an_instance_has_its_types_memory_and_threads_unless_given() -> None:
    plain, told = Scenario("ml.r5.xlarge"), Scenario(memory_bytes=GIB, threads=3, disk_bytes=5)
    assert plain.models_bytes == CATALOGUE["ml.r5.xlarge"].memory_mib * 1024**2 - OWN_BYTES
    assert plain.plan.machine.threads == 4
    assert (told.plan.machine.memory_bytes, told.plan.machine.threads, told.plan.machine.disk_bytes) == (GIB, 3, 5)


def test_a_scaled_variant_starts_at_its_minimum() -> None:
    plan = Scenario(instances_min=0, instances_max=5, concurrency=2, idle_s=7.0).plan
    assert (plan.instances, plan.sizes, plan.idle_s) == (0, InstanceRange(0, 5, 2), 7.0)
    assert (Scenario(instances=4).plan.instances, Scenario(instances=4).plan.sizes) == (4, None)


def test_a_serverless_variant_has_the_machine_and_the_range_that_it_has_live() -> None:
    plan = Scenario(serverless=Serverless(4096, 20, 3), concurrency=2, idle_s=7.0).plan
    assert (plan.instances, plan.sizes, plan.in_flight_max) == (2, InstanceRange(2, 10, 2), 20)
    machine = plan.machine
    assert (machine.memory_bytes, machine.threads) == (4 * GIB - OWN_BYTES, 2)
    assert machine.disk_bytes == 5 * GIB


def test_instances_and_serverless_replace_each_other() -> None:
    serverless = Scenario(instances_min=0, instances_max=3, memory_mib=512).altered(serverless=Serverless(1024, 5))
    assert (serverless.instances_min, serverless.memory_mib, serverless.on_aws) == (None, None, False)
    for change in ({"instances": 2}, {"instance_type": "ml.r5.large"}, {"instances_min": 0}):
        assert serverless.altered(**change).serverless is None
    assert Scenario(serverless=Serverless(1024, 5), multi_model=False).on_aws, "AWS has it for one model"


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario(serverless=Serverless(2048, 5, 1)),
        Scenario(instances=2),
        Scenario("ml.r5.large", instances_min=0, instances_max=3),
        Scenario(instances_min=1),
        Scenario(instances=np.int64(2)),  # type: ignore[arg-type]  # out of a loop over numpy's range
    ],
)
def test_botocore_takes_the_variant(scenario: Scenario) -> None:
    shape = get_session().get_service_model("sagemaker").operation_model("CreateEndpointConfig").input_shape
    request = {"EndpointConfigName": "planned", "ProductionVariants": [scenario.variant()]}
    assert ParamValidator().validate(request, shape).generate_report() == ""


def test_the_environment_is_read_back_by_the_instance() -> None:
    scenario = Scenario(**OWN)  # type: ignore[arg-type]  # of fields of many types
    environment = scenario.environment()
    assert set(environment) == set(ENVIRONMENT.values()) <= {setting.variable for setting in SETTINGS}
    settings = Settings.read(environment)
    named = {"threads": "vcpu"}  # what the instance calls it
    assert {field: getattr(settings, named.get(field, field)) for field in OWN} == OWN


def test_a_default_value_is_not_in_the_environment() -> None:
    assert Scenario("ml.r5.large", instances_min=0, wake_s=3.0, memory_bytes=5).environment() == {}


def test_memory_for_models_is_the_instances_memory_without_its_own_share() -> None:
    forty = Scenario(memory_mib=40, own_bytes=27 * 2**20)
    assert (forty.models_bytes, forty.instance_mib) == (13 * 2**20, 40)
    larger = forty.altered(instance_type="ml.r5.large")
    assert (larger.memory_mib, larger.own_bytes) == (None, forty.own_bytes), "a type brings its own memory"
    assert forty.altered(memory_bytes=5).models_bytes == 5


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"memory_mib": 10}, "of 10 MiB an instance takes 20 MiB .own_bytes. by itself: nothing is left for models"),
        ({"memory_mib": 64, "memory_bytes": 5}, "give one of them"),
        ({"memory_mib": 0}, "memory_mib is more than 0, not 0"),
        ({"own_bytes": -1}, "own_bytes is 0 or more"),
    ],
)
def test_a_memory_without_room_for_models_is_refused(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(BadScenario, match=told):
        Scenario(**changes)
