"""The environment and settings that instances are started with."""

from dataclasses import replace
from pathlib import Path

import pytest

from torpor_container.processes.inherited_variables import OF_AWS
from torpor_container.settings import DEFAULTS, Settings
from torpor_endpoint.core.resource_records import Container, CopyNeeds, Serverless, Variant
from torpor_endpoint.host import Resources, Slot
from torpor_endpoint.host.images import Image, Images
from torpor_endpoint.host.launch import Surroundings, launch_spec


@pytest.mark.parametrize("emulated", [True, False])
def test_the_real_aws_is_forgotten_where_artifacts_come_from_here_and_only_there(
    tmp_path: Path, emulated: bool
) -> None:
    around = Surroundings("http://here", "eu-west-1", tmp_path, "", emulated)
    variant = Variant("v", "m", (Container("torpor", "s3://bucket/m"),), instance_type="ml.m5.large")
    spec = launch_spec(variant, Slot("shop", "v", 0), around)
    assert spec.forgotten == ((OF_AWS,) if emulated else ())
    assert ("AWS_ACCESS_KEY_ID" in spec.environment) == emulated


def test_a_containers_environment_cannot_allow_code_that_the_owner_refuses(tmp_path: Path) -> None:
    around = Surroundings("http://here", "eu-west-1", tmp_path, "", False, refused=frozenset({"pickles"}))
    container = Container("torpor", "s3://bucket/m", environment={"TORPOR_PICKLES": "allow"})
    variant = Variant("v", "m", (container,), instance_type="ml.m5.large")
    spec = launch_spec(variant, Slot("shop", "v", 0), around)
    assert spec.environment["TORPOR_PICKLES"] == "refuse"
    assert "TORPOR_SCRIPTS" not in spec.environment


def test_a_refusal_of_usage_data_goes_with_the_launch_to_any_machine(tmp_path: Path) -> None:
    refusal = {"DO_NOT_TRACK": "1", "ORT_DISABLE_TELEMETRY": "1"}
    around = Surroundings("http://here", "eu-west-1", tmp_path, "", False, opt_outs=refusal)
    variant = Variant("v", "m", (Container("torpor", "s3://bucket/m"),), instance_type="ml.m5.large")
    assert refusal.items() <= launch_spec(variant, Slot("shop", "v", 0), around).environment.items()


@pytest.mark.parametrize("isolated", [True, False])
def test_a_model_with_network_isolation_takes_the_network_from_its_scripts(tmp_path: Path, isolated: bool) -> None:
    around = Surroundings("http://here", "eu-west-1", tmp_path, "", False)
    container = Container("torpor", environment={"TORPOR_SCRIPT_NETWORK": "allow"}, network_isolated=isolated)
    variant = Variant("v", "m", (container,), instance_type="ml.m5.large")
    settings = Settings.read(launch_spec(variant, Slot("shop", "v", 0), around).environment)
    assert settings.script_network == ("refuse" if isolated else "allow")


def test_a_containers_environment_cannot_open_a_box_that_the_owner_requires(tmp_path: Path) -> None:
    around = Surroundings("http://here", "eu-west-1", tmp_path, "", False, isolated=True)
    open_box = {"TORPOR_SCRIPT_BOX": "false", "TORPOR_SCRIPT_READS": "/", "TORPOR_REQUIRE_ISOLATION": "false"}
    open_box |= {"TORPOR_SCRIPT_PROCESSES": "100000", "TORPOR_SCRIPT_DISK_MIB": "100000000"}
    open_box |= {"TORPOR_SCRIPT_FILES": "100000000"}
    variant = Variant("v", "m", (Container("torpor", environment=open_box),), instance_type="ml.m5.large")
    settings = Settings.read(launch_spec(variant, Slot("shop", "v", 0), around).environment)
    assert (settings.script_box, settings.script_reads, settings.require_isolation) == (True, (), True)
    limits = (settings.script_processes, settings.script_disk_bytes)
    assert limits == (DEFAULTS.script_processes, DEFAULTS.script_disk_bytes)


@pytest.mark.parametrize("strict", [True, False])
def test_the_container_learns_its_image_and_whether_aws_is_followed_strictly(tmp_path: Path, strict: bool) -> None:
    around = Surroundings("http://here", "eu-west-1", tmp_path, "", False, strict=strict)
    image = "683313688378.dkr.ecr.us-east-1.amazonaws.com/sagemaker-xgboost:1.7-1"
    variant = Variant("v", "m", (Container(image, "s3://bucket/m"),), instance_type="ml.m5.large")
    settings = Settings.read(launch_spec(variant, Slot("shop", "v", 0), around).environment)
    assert (settings.image, settings.strict) == ("xgboost", strict)


def test_an_image_that_is_mapped_to_aws_s_xgboost_image_is_served_as_that(tmp_path: Path) -> None:
    mapped = Images([Image("*/my-xgb:*", stands_for="sagemaker-xgboost:1.7-1")])
    around = Surroundings("http://here", "eu-west-1", tmp_path, "", False, images=mapped)
    variant = Variant("v", "m", (Container("mine/my-xgb:2", "s3://bucket/m"),), instance_type="ml.m5.large")
    assert launch_spec(variant, Slot("shop", "v", 0), around).environment["TORPOR_IMAGE"] == "xgboost"


@pytest.mark.parametrize(
    ("variant", "given", "body_max_bytes"),
    [
        (Variant("v", "m", (Container("torpor"),), instance_type="ml.m5.large"), {}, 6_291_456),
        (Variant("v", "m", (Container("torpor"),), serverless=Serverless(1024, 20)), {}, 4_194_304),
        (Variant("v", "m", (Container("torpor"),), serverless=Serverless(1024, 20)), {"TORPOR_BODY_MAX_BYTES": "9"}, 9),
    ],
)
def test_the_limit_of_a_body_is_awss_unless_the_environment_sets_another(
    tmp_path: Path, variant: Variant, given: dict[str, str], body_max_bytes: int
) -> None:
    around = Surroundings("http://here", "eu-west-1", tmp_path, "", False)
    variant = replace(variant, containers=(replace(variant.containers[0], environment=given),))
    environment = launch_spec(variant, Slot("shop", "v", 0), around).environment
    assert Settings.read(environment).body_max_bytes == body_max_bytes


def test_with_roles_no_instance_has_a_key_and_scripts_reach_their_endpoint_only(tmp_path: Path) -> None:
    around = Surroundings("http://here:4711", "eu-west-1", tmp_path, "", roles=True, script_network="endpoint")
    role = "arn:aws:iam::1:role/a"
    variant = Variant("v", "m", (Container("torpor", role=role),), instance_type="ml.m5.large")
    first = launch_spec(variant, Slot("shop", "v", 0), around)
    assert [name for name in first.environment if "ACCESS_KEY" in name] == []
    assert first.environment["AWS_SHARED_CREDENTIALS_FILE"] == "/dev/null"
    assert first.role == role
    assert launch_spec(variant, Slot("shop", "v", 0), replace(around, roles=False)).role == ""
    settings = Settings.read(first.environment)
    assert (settings.script_network, settings.script_ports) == ("endpoint", (4711,))


@pytest.mark.parametrize(
    ("given", "isolated", "network"),
    [
        ("allow", False, "allow"),
        ("allow", True, "endpoint"),
        ("refuse", True, "refuse"),
        (None, True, "endpoint"),
    ],
)
def test_an_environment_may_widen_the_network_unless_isolation_is_required(
    tmp_path: Path, given: str | None, isolated: bool, network: str
) -> None:
    around = Surroundings("http://here:4711", "eu-west-1", tmp_path, "", isolated=isolated)
    container = Container("torpor", environment={} if given is None else {"TORPOR_SCRIPT_NETWORK": given})
    variant = Variant("v", "m", (container,), instance_type="ml.m5.large")
    spec = launch_spec(variant, Slot("shop", "v", 0), replace(around, script_network="endpoint"))
    assert Settings.read(spec.environment).script_network == network


@pytest.mark.parametrize(
    ("copies", "own", "memory_mib", "threads", "cores"),
    [
        (CopyNeeds("c", "v", 1024), {}, "1024", "2", ""),
        (CopyNeeds("c", "v", 1024, 2048), {}, "2048", "2", ""),
        (CopyNeeds("c", "v", 1024, cores=0.5), {}, "1024", "1", "0.5"),
        (CopyNeeds("c", "v", 1024, cores=1.5), {"TORPOR_VCPU": "1"}, "1024", "1", "1.5"),
        (CopyNeeds("c", "v", 1024, cores=1.0), {"TORPOR_VCPU": "16", "TORPOR_MEMORY_MIB": "9999"}, "1024", "1", "1"),
        (CopyNeeds("c", "v", 1024), {"TORPOR_MEMORY_MIB": "512"}, "512", "2", ""),
    ],
)
def test_a_copy_of_a_component_has_its_own_bounds_whatever_its_environment_asks_for(
    tmp_path: Path, copies: CopyNeeds, own: dict[str, str], memory_mib: str, threads: str, cores: str
) -> None:
    around = Surroundings("http://here", "eu-west-1", tmp_path / "endpoints", "", False)
    container = Container("torpor", "s3://bucket/m", environment=own)
    variant = Variant("component.c", "m", (container,), instance_type="ml.m5.large", copies=copies)
    spec = launch_spec(variant, Slot("shop", "component.c", 0), around)
    found = spec.environment
    assert (found["TORPOR_MEMORY_MIB"], found["TORPOR_VCPU"]) == (memory_mib, threads)
    assert found.get("TORPOR_CORES", "") == cores
    assert found["TORPOR_MEMORY_BOUND_MIB"] == memory_mib
    assert spec.resources == Resources(copies.cores or 2, copies.bound_mib, 0)
    assert spec.logs == tmp_path / "components" / "c" / "v"


def launched_on(tmp_path: Path, variant: Variant, device: str | None = None) -> tuple[str | None, int]:
    """What TORPOR_DEVICE says to the instance, and how many GPUs it takes of its machine."""
    around = Surroundings("http://here", "eu-west-1", tmp_path, "", False, device=device)
    spec = launch_spec(variant, Slot("shop", "v", 0), around)
    assert spec.resources is not None
    return spec.environment.get("TORPOR_DEVICE"), spec.resources.gpus


@pytest.mark.parametrize(
    ("instance_type", "option", "own", "launched"),
    [
        ("ml.m5.large", None, None, (None, 0)),
        ("ml.m5.large", None, "cuda:1", ("cuda:1", 1)),
        ("ml.m5.large", "auto", None, ("auto", 0)),
        ("ml.g5.xlarge", None, None, ("cuda", 1)),
        ("ml.g5.12xlarge", None, None, ("cuda", 4)),
        ("ml.g5.xlarge", "cpu", None, ("cpu", 0)),
        ("ml.g5.xlarge", "cpu", "cuda", ("cuda", 1)),
        ("ml.g5.xlarge", None, "cpu", ("cpu", 0)),
    ],
)
def test_models_predict_on_the_gpu_of_their_instance_type_unless_somebody_says_otherwise(
    tmp_path: Path, instance_type: str, option: str | None, own: str | None, launched: tuple[str | None, int]
) -> None:
    environment = {} if own is None else {"TORPOR_DEVICE": own}
    variant = Variant("v", "m", (Container("torpor", environment=environment),), instance_type=instance_type)
    assert launched_on(tmp_path, variant, option) == launched


@pytest.mark.parametrize(("accelerators", "launched"), [(0.0, (None, 0)), (1.0, ("cuda", 1))])
def test_a_copy_of_a_component_has_the_gpus_that_it_reserves(
    tmp_path: Path, accelerators: float, launched: tuple[str | None, int]
) -> None:
    copies = CopyNeeds("c", "v", 1024, accelerators=accelerators)
    variant = Variant("v", "m", (Container("torpor"),), instance_type="ml.g5.xlarge", copies=copies)
    assert launched_on(tmp_path, variant) == launched


def test_a_foreign_image_looks_for_its_device_itself(tmp_path: Path) -> None:
    images = Images([Image("*/mine:*", command={"command": ["serve"]})])
    around = Surroundings("http://here", "eu-west-1", tmp_path, "", False, images=images)
    variant = Variant("v", "m", (Container("a/mine:1"),), instance_type="ml.g5.xlarge")
    spec = launch_spec(variant, Slot("shop", "v", 0), around)
    assert "TORPOR_DEVICE" not in spec.environment
    assert spec.resources is not None
    assert spec.resources.gpus == 1
