"""The container contract where models predict on a device, which is simulated: nothing here was seen on a real one."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import xgboost

from tests.container.helpers.contract_platform import Platform
from tests.container.helpers.format_models import Trained, save_onnx
from torpor_container.app import InstanceProcess
from torpor_container.devices.simulated_device import SimulatedDevice, TakenBytes
from torpor_container.processes.zygote_client import ZygoteClient
from torpor_container.settings import Settings

MIB = 1024**2
ROW = b"0.1,0.2,0.3,0.4"
"""One row of four columns."""
TAKEN = TakenBytes(context=200 * MIB, kernels=50 * MIB, workspace=20 * MIB, weights=lambda own_bytes: MIB, of_rows=0)
"""By a model in these stories: 1 MiB of weights, and twice 20 MiB of workspace."""
MODEL_BYTES = 41 * MIB
KEPT_BYTES = 250 * MIB
"""By CUDA and ONNX Runtime."""


@pytest.fixture(scope="session")
def onnx_file(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    rows = np.random.default_rng(7).normal(size=(50, 4)).astype(np.float32)
    path = tmp_path_factory.mktemp("onnx") / "model.onnx"
    save_onnx(Trained(rows, rows @ np.arange(1.0, 5.0, dtype=np.float32)), path)
    return path.read_bytes()


@pytest.fixture(scope="session")
def booster() -> bytes:
    rows = np.random.default_rng(7).normal(size=(50, 4)).astype(np.float32)
    trained = xgboost.train({"max_depth": 2}, xgboost.DMatrix(rows, rows @ np.arange(1.0, 5.0)), 5)
    return bytes(trained.save_raw("ubj"))


@pytest.fixture
def device() -> SimulatedDevice:
    return SimulatedDevice(taken=TAKEN)


@pytest.fixture
def on_device(tmp_path: Path, zygote: ZygoteClient, device: SimulatedDevice) -> Callable[..., Platform]:
    class PlatformWithDevice(Platform):
        def _instance(self, settings: Settings, ended: Callable[[], None]) -> InstanceProcess:
            return InstanceProcess(settings, ended=ended, device=device)

    return partial(
        PlatformWithDevice,
        tmp_path,
        TORPOR_WARM_PARENT=str(zygote.path),
        TORPOR_TRIALS="false",
        TORPOR_DEVICE="cuda:0",
        TORPOR_DEVICE_MEMORY_MIB="340",  # for two models beside what the libraries keep, and no third
    )


@pytest.fixture
def platform(on_device: Callable[..., Platform]) -> Iterator[Platform]:
    with on_device() as instance:
        yield instance


def unpacked(folder: Path, name: str, content: bytes, file: str = "model.onnx") -> str:
    place = folder / "store" / name
    place.mkdir(parents=True)
    (place / file).write_bytes(content)
    return str(place)


def test_a_model_enters_the_device_as_it_is_loaded_and_answers_as_on_the_processor(
    platform: Platform, tmp_path: Path, onnx_file: bytes, device: SimulatedDevice
) -> None:
    assert platform.load("a", unpacked(tmp_path, "a", onnx_file)).status == 200
    assert platform.get("/_torpor/state").json()["device"]["models"] == ["a"]
    answer = platform.invoke("a", ROW)
    assert (answer.status, len(answer.json())) == (200, 1)
    assert device.own_bytes() > MODEL_BYTES


def test_a_load_that_finds_no_room_on_the_device_is_507_and_the_others_answer(
    platform: Platform, tmp_path: Path, onnx_file: bytes, device: SimulatedDevice
) -> None:
    for name in "ab":
        assert platform.load(name, unpacked(tmp_path, name, onnx_file)).status == 200
    held = device.own_bytes()
    refused = platform.load("c", unpacked(tmp_path, "c", onnx_file))
    assert refused.status == 507, refused.body
    assert "cuda:0" in refused.json()["message"]
    assert device.own_bytes() == held, "a refused load leaks nothing"
    assert {name: platform.invoke(name, ROW).status for name in "abc"} == {"a": 200, "b": 200, "c": 404}


def test_an_unload_gives_the_room_on_the_device_back(
    platform: Platform, tmp_path: Path, onnx_file: bytes, device: SimulatedDevice
) -> None:
    for name in "ab":
        platform.load(name, unpacked(tmp_path, name, onnx_file))
    held = device.own_bytes()
    assert platform.delete("a").status == 200
    assert device.own_bytes() == held - MODEL_BYTES
    assert platform.load("c", unpacked(tmp_path, "c", onnx_file)).status == 200


def test_memory_that_another_process_takes_meanwhile_is_no_fault_of_the_plan_but_507(
    platform: Platform, tmp_path: Path, onnx_file: bytes, device: SimulatedDevice
) -> None:
    assert platform.load("a", unpacked(tmp_path, "a", onnx_file)).status == 200
    device.others_bytes = device.total_bytes - device.own_bytes() - MODEL_BYTES // 2
    refused = platform.load("b", unpacked(tmp_path, "b", onnx_file))
    assert (refused.status, device.own_bytes(), device.held) == (507, KEPT_BYTES + MODEL_BYTES, 1)


def test_a_device_that_is_full_before_the_first_model_is_507_too(
    platform: Platform, tmp_path: Path, onnx_file: bytes, device: SimulatedDevice
) -> None:
    device.others_bytes = device.total_bytes - MIB
    refused = platform.load("a", unpacked(tmp_path, "a", onnx_file))
    assert (refused.status, device.own_bytes()) == (507, 0)


def test_the_libraries_own_memory_is_told_apart_from_the_models(
    platform: Platform, tmp_path: Path, onnx_file: bytes
) -> None:
    platform.load("a", unpacked(tmp_path, "a", onnx_file))
    state = platform.get("/_torpor/state").json()
    told = state["device"]
    assert (told["kept_bytes"], told["own_bytes"]) == (KEPT_BYTES, KEPT_BYTES + MODEL_BYTES)
    reasons = [one["reason"] for one in state["decisions"] if one["action"] == "entered"]
    assert [reason.partition(";")[0] for reason in reasons] == [f"measured {MODEL_BYTES:,} bytes"]


def test_a_prediction_that_finds_no_memory_is_507_and_the_next_one_answers(
    platform: Platform, tmp_path: Path, onnx_file: bytes, device: SimulatedDevice
) -> None:
    platform.load("a", unpacked(tmp_path, "a", onnx_file))
    device.full_at_runs = 1
    refused = platform.invoke("a", ROW)
    assert (refused.status, "no memory" in refused.json()["message"]) == (507, True)
    assert platform.invoke("a", ROW).status == 200


def test_a_lost_device_is_said_and_asks_for_another_instance(
    platform: Platform, tmp_path: Path, onnx_file: bytes, device: SimulatedDevice
) -> None:
    platform.load("a", unpacked(tmp_path, "a", onnx_file))
    device.breaks_at_run = True
    lost = platform.invoke("a", ROW)
    assert lost.status == 503
    assert "illegal memory access" in lost.json()["message"]
    assert "lost" in platform.get("/ping").body.decode()
    assert platform.get("/ping").status != 200


def test_a_neighbour_on_the_processor_answers_while_the_device_is_lost(
    platform: Platform, tmp_path: Path, onnx_file: bytes, device: SimulatedDevice
) -> None:
    rows = np.random.default_rng(7).normal(size=(50, 4)).astype(np.float32)
    forest = Trained(rows, rows @ np.arange(1.0, 5.0, dtype=np.float32)).lightgbm
    text = forest.model_to_string().encode()
    platform.load("a", unpacked(tmp_path, "a", onnx_file))
    assert platform.load("tree", unpacked(tmp_path, "tree", text, "model.txt")).status == 200
    device.breaks_at_run = True
    assert platform.invoke("a", ROW).status == 503
    assert platform.invoke("tree", ROW).status == 200


def test_xgboost_that_falls_back_to_the_processor_is_refused(
    platform: Platform, tmp_path: Path, booster: bytes, device: SimulatedDevice
) -> None:
    device.falls_back = True
    refused = platform.load("b", unpacked(tmp_path, "b", booster, "model.ubj"))
    assert refused.status == 500
    assert "would predict on the processor" in refused.json()["message"]
    assert device.held == 0


def test_a_model_of_xgboost_answers_single_rows_and_batches_alike(
    platform: Platform, tmp_path: Path, booster: bytes
) -> None:
    assert platform.load("b", unpacked(tmp_path, "b", booster, "model.ubj")).status == 200
    one = platform.invoke("b", ROW)
    many = platform.invoke("b", b"\n".join([ROW] * 5000))
    assert (one.status, many.status) == (200, 200)
    assert set(many.json()) == set(one.json())


TELLS = b"""
import json, os
def model_fn(model_dir): return [os.environ.get(name) for name in ("CUDA_VISIBLE_DEVICES", "TORPOR_DEVICE_MEMORY_MIB")]
def transform_fn(model, body, content_type, accept): return json.dumps(model), "application/json"
"""


def test_a_script_sees_the_device_of_its_instance_and_its_share(platform: Platform, tmp_path: Path) -> None:
    loaded = platform.load("s", unpacked(tmp_path, "s", TELLS, "inference.py"))
    assert loaded.status == 200, loaded.body
    assert platform.invoke("s", ROW).json() == ["0", "340"]
