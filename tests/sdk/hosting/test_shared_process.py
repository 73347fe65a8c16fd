"""`torpor_endpoint.local`: an endpoint leaves nothing behind on a process that continues."""

import gc
import os
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

import torpor
from tests.sdk.helpers.small_models import CITIES, ROWS, train_booster
from torpor.errors import EndpointFailed, TorporError
from torpor.hosting.endpoint_options import BUCKET, EndpointOptions
from torpor.hosting.endpoint_process import NO_GUESS_S, Start
from torpor.hosting.shared_process import SharedLocal, SharedProcess
from torpor.testing.unittests import TRAVELLING
from torpor_endpoint.core.warm_steps import is_kept


@pytest.fixture(scope="module")
def sagemaker(shared: SharedProcess) -> Any:
    return shared.client("sagemaker")


@pytest.fixture
def others(sagemaker: Any) -> list[str]:
    """The endpoints of other tests on that process."""
    return resources(sagemaker)


def resources(sagemaker: Any) -> list[str]:
    """The names of all endpoints, configurations and models."""
    endpoints, configs = sagemaker.list_endpoints()["Endpoints"], sagemaker.list_endpoint_configs()["EndpointConfigs"]
    found = [*endpoints, *configs, *sagemaker.list_models()["Models"]]
    return sorted(value for one in found for key, value in one.items() if key.endswith("Name"))


def sockets() -> int:
    """But for those that earlier tests have left to the garbage collector, which may come at any moment."""
    gc.collect()
    links = [Path("/proc/self/fd", number) for number in os.listdir("/proc/self/fd")]
    return sum(os.readlink(link).startswith("socket:") for link in links if link.is_symlink())


needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only Linux lists descriptors")


def test_a_data_folder_that_somebody_has_given_is_not_removed(tmp_path: Path) -> None:
    with SharedProcess(Start(data_dir=tmp_path)) as process:
        process.bucket_folder("kept").joinpath("a").touch()
        with pytest.raises(TorporError, match=r"reset would remove .*: start the endpoint without data_dir"):
            process.reset()
        assert (tmp_path / "s3/kept/a").exists()


def test_a_test_sessions_endpoint_starts_no_zygote_on_a_guess() -> None:
    assert not is_kept(NO_GUESS_S)
    assert is_kept(Start().warm_idle_s)
    assert TRAVELLING.warm_idle_s == NO_GUESS_S


@needs_proc
def test_its_connections_end_with_it(shared: SharedProcess, sagemaker: Any) -> None:
    sagemaker.list_endpoints()
    before = sockets()
    with shared.local() as endpoint:
        endpoint.put(b"no model", key="a.tar.gz")
        endpoint.client("sagemaker").list_models()
        with pytest.raises(ClientError, match="not found"):
            endpoint.caller().invoke("nowhere")
        assert sockets() >= before + 4
    assert sockets() == before


@needs_proc
def test_its_connections_end_though_it_cannot_be_deleted(shared: SharedProcess) -> None:
    before = sockets()
    with (
        pytest.raises(ClientError, match="no_name"),
        SharedLocal(shared, EndpointOptions().plan("no_name")) as endpoint,
    ):
        endpoint.client("sagemaker").list_models()
    assert sockets() == before


def test_nothing_of_it_is_left(shared: SharedProcess, sagemaker: Any, others: list[str]) -> None:
    with shared.local() as endpoint:
        endpoint.deploy(memory_mib=512)
        assert len(resources(sagemaker)) == len(others) + 5
    assert resources(sagemaker) == others


@pytest.mark.parametrize("name", ["local", "no_name"])
def test_a_failed_endpoint_leaves_nothing_behind(
    shared: SharedProcess, sagemaker: Any, others: list[str], name: str
) -> None:
    with pytest.raises(EndpointFailed, match=r"nobodys:1|no_name"):
        shared.local(name=name, image="nobodys:1")
    assert resources(sagemaker) == others


def test_an_endpoint_has_no_models_of_an_earlier_one_of_its_name(shared: SharedProcess, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.tar.gz").write_text("no model")
    with shared.local(tmp_path / "one") as endpoint, shared.local(tmp_path / "one", name="local-2"):
        endpoint.put(b"no model", key="not//ordinary")
    with shared.local(tmp_path / "two") as endpoint:
        found = endpoint.client("s3").list_objects_v2(Bucket=BUCKET, Prefix="local")["Contents"]
        assert [entry["Key"] for entry in found] == ["local-2/one.tar.gz", "local/two.tar.gz"]


def test_an_endpoint_deleted_elsewhere_can_be_closed(shared: SharedProcess, sagemaker: Any, others: list[str]) -> None:
    with shared.local() as endpoint:
        sagemaker.delete_endpoint(EndpointName=endpoint.name)
    assert resources(sagemaker) == others


def test_a_second_close_leaves_another_endpoint_of_the_name_alone(shared: SharedProcess, models: Path) -> None:
    with shared.local(models) as endpoint:
        answer = endpoint.invoke(CITIES[0], ROWS)
        endpoint.close()
        with shared.local(models) as another:
            endpoint.close()
            assert another.invoke(CITIES[0], ROWS) == answer
            another.deploy()
            assert another.invoke(CITIES[0], ROWS) == answer


def test_a_second_endpoint_of_an_open_name_is_refused_and_harms_nothing(shared: SharedProcess) -> None:
    with shared.local(name="twice") as endpoint:
        endpoint.put(b"no model", key="a.tar.gz")
        with pytest.raises(TorporError, match="'twice' is open already: give name="):
            shared.local(name="twice")
        found = endpoint.client("s3").list_objects_v2(Bucket=BUCKET, Prefix="twice/")["Contents"]
        assert [entry["Key"] for entry in found] == ["twice/a.tar.gz"]


@pytest.mark.parametrize(
    ("option", "said"), [("strict", "torpor.local"), ("data_dir", "process's"), ("memory", "no option")]
)
def test_an_option_that_is_not_the_endpoints_own_is_named(shared: SharedProcess, option: str, said: str) -> None:
    with pytest.raises(TypeError, match=option) as refused:
        shared.local(None, name="mine", **{option: True})
    assert said in str(refused.value)


def test_a_closed_endpoint_raises_an_error(shared: SharedProcess) -> None:
    with shared.local(name="closed") as endpoint:
        pass
    with pytest.raises(TorporError, match="this endpoint is closed"):
        endpoint.invoke("a.tar.gz", [[1.0]])


def test_an_endpoint_serves_the_prefix_that_an_application_writes(shared: SharedProcess, sagemaker: Any) -> None:
    before = sagemaker.list_models()["Models"]
    with shared.served("of-the-application", "s3://own-bucket/models/", memory_mib=2048) as served:
        assert served.name == "of-the-application"
        described = sagemaker.describe_endpoint(EndpointName=served.name)
        assert described["EndpointStatus"] == "InService"
        folder = shared.bucket_folder("own-bucket") / "models"
        torpor.bundle(train_booster(rounds=2), folder / "a.tar.gz")
        runtime = shared.client("sagemaker-runtime")
        call = {"EndpointName": served.name, "TargetModel": "a.tar.gz", "ContentType": "text/csv"}
        assert runtime.invoke_endpoint(**call, Body="1,2,3,4")["Body"].read()
        shared.release(runtime)
    assert sagemaker.list_models()["Models"] == before


def test_an_unknown_option_of_served_is_refused(shared: SharedProcess) -> None:
    with pytest.raises(TypeError, match="no option memory"), shared.served("x", "s3://b/", memory=1):
        pass
