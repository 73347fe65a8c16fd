"""Boosters of an instance: XGBoost answers first, then flat trees that all instances of the machine map."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import xgboost

from tests.container.helpers.boosters_of_all_objectives import asked, booster
from tests.container.helpers.contract_platform import Platform
from tests.container.helpers.machine_of_instances import MachineOfInstances
from tests.helpers.waiting import until
from torpor_container.processes.zygote_client import ZygoteClient
from torpor_container.trees import walking
from torpor_container.trees.flat_trees import VERSION

if walking.extension() is None:
    pytest.skip("the extension was not built: there is no C compiler", allow_module_level=True)

TARGET = "X-Amzn-SageMaker-Target-Model"
ROWS = asked(1, 3)
BODY = "\n".join(",".join("" if cell != cell else repr(float(cell)) for cell in row) for row in ROWS).encode()


class Machine(MachineOfInstances):
    def put(self, name: str, trained: Any) -> None:
        self.pack(name, "xgboost-model", bytes(trained.save_raw("ubj")))

    def files(self, ending: str = f"trees-{VERSION}") -> list[Path]:
        return super().files(ending)


@pytest.fixture
def machine(tmp_path: Path, zygote: ZygoteClient) -> Iterator[Machine]:
    made = Machine(tmp_path, zygote)
    yield made
    made.close()


def said(instance: Platform, name: str) -> list[float]:
    headers = {TARGET: name, "Content-Type": "text/csv", "Accept": "application/json"}
    answer = instance.request("POST", "/invocations", BODY, headers)
    assert answer.status == 200, answer.body
    found: list[float] = json.loads(answer.body)
    return found


def expected(trained: Any) -> list[float]:
    found: list[float] = json.loads(json.dumps(trained.predict(xgboost.DMatrix(ROWS)).tolist()))
    return found


def state(instance: Platform, name: str) -> tuple[int, list[str]]:
    """The model's bytes in the accounts, and the reasons of the decisions about its form."""
    found: Any = instance.get("/_torpor/state").json()
    of_forms = ("resized", "not-mapped")
    reasons = [one["reason"] for one in found["decisions"] if one["model"] == name and one["action"] in of_forms]
    (size_bytes,) = [model["size_bytes"] for model in found["models"] if model["name"] == name]
    return size_bytes, reasons


def answers_mapped(instance: Platform, name: str) -> bool:
    found: Any = instance.get("/_torpor/state").json()
    return any(model.get("mapped", False) for model in found["models"] if model["name"] == name)


def loaded_because(instance: Platform, name: str) -> str:
    """The reason of the decision that tells of the model's load."""
    found: Any = instance.get("/_torpor/state").json()
    (reason,) = [one["reason"] for one in found["decisions"] if (one["model"], one["action"]) == (name, "loaded")]
    return str(reason)


def until_resized(instance: Platform, name: str) -> str:
    """The reason, once the model has changed its form, or keeps it for good."""
    until(lambda: state(instance, name)[1])
    return state(instance, name)[1][-1]


def maps(instance_file: Path) -> int:
    """How many mappings of the file's bytes this process has."""
    inode = f" {instance_file.stat().st_ino} "
    return sum(inode in line for line in Path("/proc/self/maps").read_text().splitlines())


def test_xgboost_answers_first_and_then_flat_trees_that_every_instance_maps(machine: Machine) -> None:
    trained = booster("binary:logistic", rounds=50)
    machine.put("m", trained)
    one, other = machine.instance(), machine.instance()
    assert said(one, "m") == expected(trained)
    before_bytes, _ = state(one, "m")
    assert not answers_mapped(one, "m")
    assert "flat trees answer, equal to XGBoost" in until_resized(one, "m")
    (file,) = machine.files()
    assert state(one, "m")[0] == 16 * 1024 + file.stat().st_size < before_bytes
    assert maps(file) == 1
    assert answers_mapped(one, "m")
    assert said(one, "m") == expected(trained)
    assert said(other, "m") == expected(trained)
    assert state(other, "m")[1] == [], "it never had XGBoost answer"
    assert maps(file) == 2
    until(lambda: state(one, "m")[0] == state(other, "m")[0] == 16 * 1024 + -(-file.stat().st_size // 2))


def test_the_same_content_under_another_name_has_the_same_file(machine: Machine) -> None:
    for name in ("a", "b"):
        machine.put(name, booster("reg:squarederror"))
    one = machine.instance()
    said(one, "a")
    until_resized(one, "a")
    assert said(one, "b") == said(one, "a")
    assert state(one, "b")[1] == []
    assert len(machine.files()) == 1


def test_a_model_that_flat_trees_do_not_cover_stays_with_xgboost_and_the_ledger_says_why(machine: Machine) -> None:
    trained = booster("reg:squarederror", booster="dart")
    machine.put("m", trained)
    one, other = machine.instance(), machine.instance()
    said(one, "m")
    why = "its booster is dart, and flat trees are for gbtree alone"
    assert until_resized(one, "m") == why
    assert said(one, "m") == expected(trained)
    assert len(machine.files("refused")) == 1
    assert said(other, "m") == expected(trained)
    assert loaded_because(other, "m").endswith(f"; not mapped: {why}"), "what is known is told with the load"
    assert state(other, "m")[1] == []


@pytest.mark.parametrize("setting", [{"TORPOR_TREES": "library"}, {"TORPOR_TRIALS": "false"}])
def test_xgboost_answers_where_a_setting_says_so_or_nothing_proves_flat_trees(
    machine: Machine, setting: dict[str, str]
) -> None:
    trained = booster("reg:squarederror")
    machine.put("m", trained)
    one = machine.instance(**setting)
    assert said(one, "m") == expected(trained)
    assert (state(one, "m")[1], list(machine.mapped.rglob("*"))) == ([], [])


def test_the_first_answer_waits_for_flat_trees_where_a_setting_says_so(machine: Machine) -> None:
    trained = booster("reg:gamma")
    machine.put("m", trained)
    machine.put("dart", booster("reg:squarederror", booster="dart"))
    one = machine.instance(TORPOR_TREES="flat")
    assert said(one, "m") == expected(trained)
    (file,) = machine.files()
    assert maps(file) == 1
    assert state(one, "m")[0] == 16 * 1024 + file.stat().st_size
    said(one, "dart")
    assert "its booster is dart" in until_resized(one, "dart")


def test_a_damaged_file_is_removed_and_xgboost_answers(machine: Machine) -> None:
    trained = booster("reg:squarederror")
    machine.put("m", trained)
    said(one := machine.instance(), "m")
    until_resized(one, "m")
    (file,) = machine.files()
    inode, content = file.stat().st_ino, bytearray(file.read_bytes())
    content[200] ^= 1
    file.unlink()
    file.write_bytes(content)
    other = machine.instance()
    assert said(other, "m") == expected(trained)
    until_resized(other, "m")
    assert machine.files()[0].stat().st_ino != inode
    assert said(one, "m") == said(other, "m") == expected(trained)


def test_a_model_answers_while_its_file_is_evicted_and_a_replaced_one_never_comes_back(machine: Machine) -> None:
    first, second = booster("reg:squarederror", 1), booster("reg:squarederror", 2)
    machine.put("m", first)
    one = machine.instance(TORPOR_REVALIDATE="resident")
    said(one, "m")
    until_resized(one, "m")
    for file in machine.files():
        file.unlink()
    assert said(one, "m") == expected(first)
    machine.put("m", second)
    assert said(one, "m") == expected(second)
    until_resized(one, "m")
    assert said(one, "m") == said(machine.instance(), "m") == expected(second)


def test_a_model_that_leaves_unmaps_its_file(machine: Machine) -> None:
    machine.put("m", booster("reg:squarederror", 1))
    one = machine.instance(TORPOR_REVALIDATE="resident")
    said(one, "m")
    until_resized(one, "m")
    (file,) = machine.files()
    assert (maps(file), file.stat().st_nlink) == (1, 2)
    machine.put("m", booster("reg:squarederror", 2))
    said(one, "m")
    until(lambda: (maps(file), file.stat().st_nlink) == (0, 1))
