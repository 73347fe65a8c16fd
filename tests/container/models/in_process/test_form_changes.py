"""ONNX models whose weights instances share: parted once, proved, followed by the accounts, and left when hot."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.container.helpers.contract_platform import Platform
from tests.container.helpers.machine_of_instances import MachineOfInstances
from tests.helpers.waiting import until
from torpor_container.mapped.mapped_shares import HOT_CALLS
from torpor_container.processes.zygote_client import ZygoteClient

WIDTH = 600
WEIGHTS_BYTES = 2 * WIDTH * WIDTH * 4
TARGET = "X-Amzn-SageMaker-Target-Model"
ROW = ",".join(str(number / WIDTH) for number in range(WIDTH)).encode()


def network(seed: int, texts: bool = False) -> onnx.ModelProto:
    dice = np.random.default_rng(seed)
    weights = [numpy_helper.from_array(dice.normal(size=(WIDTH, WIDTH)).astype(np.float32), name) for name in "vw"]
    nodes = [helper.make_node("MatMul", ["x", "v"], ["h"]), helper.make_node("MatMul", ["h", "w"], ["s"])]
    kind = TensorProto.STRING if texts else TensorProto.FLOAT
    last = helper.make_node("Cast", ["s"], ["y"], to=kind)
    shape = [None, WIDTH]
    graph = helper.make_graph(
        [*nodes, last],
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", kind, shape)],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


class Machine(MachineOfInstances):
    def put(self, name: str, model: onnx.ModelProto) -> None:
        self.pack(name, "model.onnx", model.SerializeToString())

    def files(self, ending: str = "onnx-1") -> list[Path]:
        return super().files(ending)


@pytest.fixture
def machine(tmp_path: Path, zygote: ZygoteClient) -> Iterator[Machine]:
    made = Machine(tmp_path, zygote)
    yield made
    made.close()


def said(instance: Platform, name: str) -> list[float]:
    headers = {TARGET: name, "Content-Type": "text/csv", "Accept": "application/json"}
    answer = instance.request("POST", "/invocations", ROW, headers)
    assert answer.status == 200, answer.body
    return [float(cell) for row in json.loads(answer.body) for cell in row]


def state(instance: Platform, name: str) -> tuple[int, list[str]]:
    """The model's bytes in the accounts, and the reasons of the decisions about it."""
    found: Any = instance.get("/_torpor/state").json()
    reasons = [one["reason"] for one in found["decisions"] if one["model"] == name and one["action"] == "resized"]
    (size_bytes,) = [model["size_bytes"] for model in found["models"] if model["name"] == name]
    return size_bytes, reasons


def until_resized(instance: Platform, name: str, times: int = 1) -> list[str]:
    """The reasons, once the model has changed its form so often."""
    until(lambda: len(state(instance, name)[1]) >= times)
    return state(instance, name)[1]


def test_a_model_is_parted_once_and_mapped_by_every_instance(machine: Machine) -> None:
    machine.put("m", network(1))
    one, other = machine.instance(), machine.instance()
    first = said(one, "m")
    assert "mapped" in until_resized(one, "m")[0]
    (file,) = machine.files()
    inode = file.stat().st_ino
    np.testing.assert_allclose(said(one, "m"), first, rtol=1e-4, atol=1e-2)
    np.testing.assert_allclose(said(other, "m"), first, rtol=1e-4, atol=1e-2)
    assert machine.files()[0].stat().st_ino == inode
    assert state(other, "m")[1] == [], "its first load was of the mapped form"
    shares = [state(instance, "m")[0] for instance in (one, other)]
    assert all(WEIGHTS_BYTES / 2 <= share < WEIGHTS_BYTES for share in shares)


def test_a_model_whose_answers_cannot_be_compared_is_refused_once_for_all_instances(machine: Machine) -> None:
    machine.put("m", network(1, texts=True))
    one, other = machine.instance(), machine.instance()
    said(one, "m")
    (refusal,) = until(lambda: machine.files("refused"))
    assert "the output y is no tensor of numbers" in refusal.read_text()
    said(other, "m")
    assert machine.files() == []
    assert state(one, "m")[0] > WEIGHTS_BYTES


@pytest.mark.parametrize("setting", [{"TORPOR_ONNX_WEIGHTS": "private"}, {"TORPOR_TRIALS": "false"}])
def test_weights_stay_private_where_a_setting_says_so_or_nothing_proves_a_form(
    machine: Machine, setting: dict[str, str]
) -> None:
    machine.put("m", network(1))
    one = machine.instance(**setting)
    said(one, "m")
    said(one, "m")
    assert (state(one, "m")[1], list(machine.mapped.rglob("*"))) == ([], [])


@pytest.mark.thorough
def test_a_hot_model_has_weights_of_its_own_again_and_a_seldom_one_keeps_its_file(machine: Machine) -> None:
    for name in ("hot", "seldom"):
        machine.put(name, network(len(name)))
    one = machine.instance()
    for name in ("hot", "seldom"):
        said(one, name)
        until_resized(one, name)
    shared_bytes, _ = state(one, "hot")
    for _ in range(HOT_CALLS):
        said(one, "hot")
    assert "it is hot" in until_resized(one, "hot", 2)[1]
    assert state(one, "hot")[0] > shared_bytes
    assert len(state(one, "seldom")[1]) == 1


@pytest.mark.thorough
def test_a_hot_model_keeps_its_file_where_the_owner_wants_it_shared(machine: Machine) -> None:
    machine.put("m", network(1))
    one = machine.instance(TORPOR_ONNX_WEIGHTS="shared")
    said(one, "m")
    until_resized(one, "m")
    for _ in range(HOT_CALLS):
        said(one, "m")
    assert len(state(one, "m")[1]) == 1


def test_a_damaged_file_is_removed_and_the_model_loaded_as_it_is(machine: Machine) -> None:
    machine.put("m", network(1))
    first = said(one := machine.instance(), "m")
    until_resized(one, "m")
    (file,) = machine.files()
    inode = file.stat().st_ino
    file.unlink()
    file.write_bytes(b"not what was written")
    other = machine.instance()
    np.testing.assert_allclose(said(other, "m"), first, rtol=1e-4, atol=1e-2)
    until_resized(other, "m")
    assert machine.files()[0].stat().st_ino != inode
    np.testing.assert_allclose(said(one, "m"), first, rtol=1e-4, atol=1e-2)


def test_a_model_answers_while_its_file_is_evicted_and_a_replaced_one_never_comes_back(machine: Machine) -> None:
    machine.put("m", network(1))
    one = machine.instance(TORPOR_REVALIDATE="resident")
    first = said(one, "m")
    until_resized(one, "m")
    for file in machine.files():
        file.unlink()
    np.testing.assert_allclose(said(one, "m"), first, rtol=1e-4, atol=1e-2)
    machine.put("m", network(2))
    second = said(one, "m")
    assert not np.allclose(second, first, rtol=1e-2)
    until_resized(one, "m")
    np.testing.assert_allclose(said(one, "m"), second, rtol=1e-4, atol=1e-2)
    np.testing.assert_allclose(said(machine.instance(), "m"), second, rtol=1e-4, atol=1e-2)


def expected(seed: int) -> list[float]:
    dice = np.random.default_rng(seed)
    v, w = (dice.normal(size=(WIDTH, WIDTH)).astype(np.float32) for _ in "vw")
    row = np.array(ROW.split(b","), np.float32)
    return [float(cell) for cell in row @ v @ w]


@pytest.mark.thorough
def test_answers_stay_right_while_models_come_leave_and_are_replaced_on_a_full_disk(machine: Machine) -> None:
    """Two instances: one keeps its models and asks for newer ones, the other unloads after each call and fetches again.
    There is room for two of five mapped files, and for two unpacked artifacts of each instance."""
    dice, seeds = random.Random(3), dict.fromkeys("abcde", 0)
    fleet = [
        machine.instance(TORPOR_DISK_MIB="8", TORPOR_REVALIDATE="resident"),
        machine.instance(TORPOR_DISK_MIB="8", TORPOR_MODEL_CACHE="false"),
    ]
    for number in range(40):
        name = dice.choice("abcde")
        if not seeds[name] or number % 5 == 0:
            seeds[name] = number + 1
            machine.put(name, network(seeds[name]))
        for instance in fleet:
            np.testing.assert_allclose(said(instance, name), expected(seeds[name]), rtol=1e-3, atol=0.05)
    assert machine.files(), "some were mapped"
    assert sum(file.stat().st_size for file in machine.files()) <= 8 * 2**20
    kept: Any = fleet[0].get("/_torpor/state").json()
    mapped = {decision["model"] for decision in kept["decisions"] if "mapped" in decision["reason"]}
    assert mapped & {model["name"] for model in kept["models"]}, "and some still are"
    machine.close()
    assert list(machine.mapped.glob("*/holders/*")) == [], "nothing is held, and nothing unfinished is left"
