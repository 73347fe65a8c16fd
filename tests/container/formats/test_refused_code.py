"""Models that run code, where the owner forbids it, fail with an error that names the setting."""

import asyncio
import pickle
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import onnx
import pytest
import skops.io
import xgboost
from sklearn.linear_model import LinearRegression

from tests.container.helpers.script_processes import started, write_script
from torpor_container.errors import LoadFailed
from torpor_container.formats import Conventions
from torpor_container.models.built_in_loader import BuiltInLoader
from torpor_container.models.loader import Placed
from torpor_container.processes.memory_budget import MemoryBudget
from torpor_container.processes.zygote_access import ZygoteAccess
from torpor_container.processes.zygote_client import ZygoteClient
from torpor_container.running.scripts import Scripts
from torpor_container.settings import Settings

ROWS = np.random.default_rng(7).normal(size=(20, 3))


def refusing(**settings: str) -> BuiltInLoader:
    read = Settings.read(settings)
    memory, conventions = MemoryBudget(read.memory_bytes), Conventions(pickles=read.pickles, trust=read.trust)
    scripts = Scripts(read, memory, conventions, ZygoteAccess(""), {})
    return BuiltInLoader(read, memory, conventions, scripts, lambda: 0.0)


def load(shop: BuiltInLoader, folder: Path) -> str:
    """The model's format. Raises the errors of its load."""

    async def story() -> str:
        try:
            return (await (await shop.recognise(Placed("house", "house-1", folder))).load()).runner.format
        finally:
            await shop.close()

    return asyncio.run(story())


def pickled_booster(path: Path) -> None:
    path.write_bytes(pickle.dumps(xgboost.train({"nthread": 1}, xgboost.DMatrix(ROWS, ROWS[:, 0]), 2)))


def joblib_dump(path: Path) -> None:
    joblib.dump(LinearRegression().fit(ROWS, ROWS[:, 0]), path)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("model.joblib", joblib_dump),
        ("m.pkl", joblib_dump),
        ("xgboost-model", pickled_booster),
        ("m.pickle", joblib_dump),
    ],
)
def test_a_pickle_is_not_loaded_where_pickles_are_refused(tmp_path: Path, name: str, write: object) -> None:
    assert callable(write)
    write(tmp_path / name)
    with pytest.raises(
        LoadFailed, match=rf"{name} is a pickle, .* TORPOR_PICKLES=refuse forbids it: save the model as"
    ):
        load(refusing(TORPOR_PICKLES="refuse"), tmp_path)
    assert load(refusing(TORPOR_PICKLES="allow"), tmp_path) in ("scikit-learn", "xgboost")


def test_a_model_file_without_code_is_served_where_pickles_are_refused(tmp_path: Path) -> None:
    xgboost.train({"nthread": 1}, xgboost.DMatrix(ROWS, ROWS[:, 0]), 2).save_model(tmp_path / "model.ubj")
    assert load(refusing(TORPOR_PICKLES="refuse", TORPOR_SCRIPTS="refuse"), tmp_path) == "xgboost"


def test_a_model_with_a_script_is_not_served_by_its_file_alone_where_scripts_are_refused(tmp_path: Path) -> None:
    joblib_dump(tmp_path / "model.joblib")
    write_script(tmp_path, "raise SystemExit", "code/inference.py")
    with pytest.raises(LoadFailed, match=r"house has a user script, inference\.py, and TORPOR_SCRIPTS=refuse"):
        load(refusing(TORPOR_SCRIPTS="refuse"), tmp_path)


@pytest.mark.parametrize("write", [joblib_dump, pickled_booster])
def test_where_only_data_is_trusted_a_pickle_is_refused_with_what_to_do(tmp_path: Path, write: object) -> None:
    assert callable(write)
    write(tmp_path / "model.pkl")
    with pytest.raises(LoadFailed, match=r"model\.pkl is a pickle, .* TORPOR_TRUST=data forbids it: save the model as"):
        load(refusing(TORPOR_TRUST="data"), tmp_path)


def test_where_only_data_is_trusted_scripts_and_old_binary_models_are_refused(tmp_path: Path) -> None:
    (tmp_path / "xgboost-model").write_bytes(b"binf" + bytes(400))
    with pytest.raises(LoadFailed, match="old binary format, and TORPOR_TRUST=data"):
        load(refusing(TORPOR_TRUST="data"), tmp_path)
    write_script(tmp_path, "raise SystemExit", "code/inference.py")
    with pytest.raises(LoadFailed, match=r"house has a user script, inference\.py, and TORPOR_TRUST=data"):
        load(refusing(TORPOR_TRUST="data"), tmp_path)


def test_where_only_data_is_trusted_data_is_served(tmp_path: Path) -> None:
    xgboost.train({"nthread": 1}, xgboost.DMatrix(ROWS, ROWS[:, 0]), 2).save_model(tmp_path / "model.ubj")
    assert load(refusing(TORPOR_TRUST="data"), tmp_path) == "xgboost"
    (tmp_path / "model.ubj").unlink()
    skops.io.dump(LinearRegression().fit(ROWS, ROWS[:, 0]), tmp_path / "model.skops")
    assert load(refusing(TORPOR_TRUST="data"), tmp_path) == "scikit-learn"


@pytest.mark.parametrize("place", ["../secret", "/etc/passwd", "sub/../../secret", "sub", "*/_ORT_MEM_ADDR_/*"])
@pytest.mark.parametrize("depth", ["in the graph", "in an operator", "in a graph of an operator"])
def test_onnx_data_outside_the_folder_is_not_read(tmp_path: Path, depth: str, place: str) -> None:
    _write_placed(tmp_path, depth, place)
    with pytest.raises(LoadFailed, match=r"model\.onnx has weights in '.+', which is no file of its folder: pack"):
        load(refusing(TORPOR_TRUST="data"), tmp_path / "model")


@pytest.mark.parametrize("depth", ["in the graph", "in an operator", "in a graph of an operator"])
def test_onnx_data_beside_a_model_is_read(tmp_path: Path, depth: str) -> None:
    _write_placed(tmp_path, depth, "sub/weights")
    assert load(refusing(TORPOR_TRUST="data"), tmp_path / "model") == "onnx"


def test_onnx_data_that_cannot_be_looked_through_is_not_loaded(tmp_path: Path) -> None:
    _write_placed(tmp_path, "in the graph", "sub/weights")
    path = tmp_path / "model" / "model.onnx"
    path.write_bytes(path.read_bytes() + b"\xfb\x06\xfc\x06")  # a group, which is no field of a model
    with pytest.raises(LoadFailed, match="a field has the wire type 3"):
        load(refusing(TORPOR_TRUST="data"), tmp_path / "model")


def _write_placed(folder: Path, depth: str, place: str) -> None:
    """A model with weights that are at a place in or beside its folder."""
    (folder / "model" / "sub").mkdir(parents=True)
    for file in (folder / "secret", folder / "model" / "sub" / "weights"):
        file.write_bytes(bytes(12))
    weights = onnx.helper.make_tensor("w", onnx.TensorProto.FLOAT, [3], [0.0] * 3)
    weights.ClearField("float_data")
    weights.data_location = onnx.TensorProto.EXTERNAL
    weights.external_data.add(key="location", value=place)
    weights.external_data.add(key="length", value="12")
    added, constant = onnx.helper.make_node("Add", ["x", "w"], ["y"]), onnx.helper.make_node("Constant", [], ["w"])
    constant.attribute.append(onnx.helper.make_attribute("value", weights))
    nodes, constants = {
        "in the graph": ([added], [weights]),
        "in an operator": ([constant, added], []),
        "in a graph of an operator": ([_either(constant, added)], []),
    }[depth]
    (folder / "model" / "model.onnx").write_bytes(_onnx(nodes, constants))


def _either(*nodes: Any) -> Any:
    """An operator that does one of two things, which are the same."""
    answer = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [None, 3])
    branch = onnx.helper.make_graph(list(nodes), "branch", [], [answer])
    return onnx.helper.make_node("If", ["known"], ["y"], then_branch=branch, else_branch=branch)


def test_an_onnx_operator_that_a_library_would_bring_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(_onnx([onnx.helper.make_node("Explode", ["x"], ["y"], domain="evil")], []))
    with pytest.raises(LoadFailed, match="Explode"):
        load(refusing(TORPOR_TRUST="data"), tmp_path)


def _onnx(nodes: list[Any], constants: list[Any]) -> bytes:
    given, answer = (onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [None, 3]) for n in "xy")
    known = onnx.helper.make_tensor("known", onnx.TensorProto.BOOL, [1], [True])
    graph = onnx.helper.make_graph(nodes, "g", [given], [answer], [*constants, known])
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("evil", 1)]
    model = onnx.helper.make_model(graph, opset_imports=opsets)
    model.ir_version = 8
    return bytes(model.SerializeToString())


def test_a_script_s_default_model_is_no_pickle_either(tmp_path: Path, zygote: ZygoteClient) -> None:
    joblib_dump(tmp_path / "model.joblib")
    write_script(tmp_path, "def output_fn(prediction, accept): return str(prediction)")

    async def story() -> None:
        async with started(zygote, tmp_path, conventions=Conventions(pickles=False)) as process:
            with pytest.raises(LoadFailed, match="TORPOR_PICKLES=refuse"):
                await process.loaded(30.0)

    asyncio.run(story())


@pytest.mark.parametrize("variable", ["TORPOR_PICKLES", "TORPOR_SCRIPTS", "TORPOR_REQUIREMENTS"])
def test_a_word_that_is_neither_is_refused(variable: str) -> None:
    with pytest.raises(Exception, match=f"{variable}='no': must be"):
        Settings.read({variable: "no"})
