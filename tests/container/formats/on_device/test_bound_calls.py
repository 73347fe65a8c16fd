"""A hot network on a device keeps its inputs and outputs bound, and answers as in the usual way.

The device is simulated: nothing here was seen on a real one.
"""

import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

from torpor_container.content.plain import Outputs
from torpor_container.devices.bound_session import BoundSession
from torpor_container.devices.device import DeviceFull
from torpor_container.devices.simulated_device import MIB, SimulatedDevice, TakenBytes
from torpor_container.errors import DeviceLost
from torpor_container.formats.on_device.onnx_on_device import OnnxOnDevice
from torpor_container.formats.onnx import SessionCall

FLOAT = TensorProto.FLOAT
TAKEN = TakenBytes(context=0, kernels=0, workspace=0, weights=lambda own_bytes: MIB, of_rows=0)


def saved(path: Path, nodes: list[Any], inputs: dict[str, list[Any]], outputs: dict[str, int | None]) -> Path:
    """A model whose outputs are of these types, and of the shape of rows; None: a sequence."""
    ends = [helper.make_tensor_value_info(name, kind, [None] * rank) for name, [kind, rank] in inputs.items()]
    said = [
        helper.make_tensor_sequence_value_info(name, FLOAT, None)
        if kind is None
        else helper.make_tensor_value_info(name, kind, None)
        for name, kind in outputs.items()
    ]
    graph = helper.make_graph(nodes, "g", ends, said)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(made.SerializeToString())
    return path


@pytest.fixture
def sums(tmp_path: Path) -> Path:
    """Two outputs: twice `x`, and `x` times `y`."""
    nodes = [helper.make_node("Add", ["x", "x"], ["twice"]), helper.make_node("Mul", ["x", "y"], ["product"])]
    return saved(tmp_path / "m.onnx", nodes, {"x": [FLOAT, 2], "y": [FLOAT, 2]}, {"twice": FLOAT, "product": FLOAT})


@pytest.fixture
def device() -> SimulatedDevice:
    return SimulatedDevice(total_bytes=64 * MIB, taken=TAKEN)


def hot(path: Path, device: SimulatedDevice) -> tuple[OnnxOnDevice, Callable[[SessionCall], Any]]:
    form = OnnxOnDevice(path, device)
    form.enter(2**40)
    form.hot = True
    return form, form.over(str)


def call(rows: int, *outputs: str, seed: int = 7) -> SessionCall:
    dice = np.random.default_rng(seed)
    feed = {name: dice.standard_normal((rows, 3), np.float32) for name in ("x", "y")}
    return SessionCall(feed, list(outputs or ("twice", "product")))


def test_a_bound_call_answers_as_a_usual_one_whatever_shapes_and_outputs_follow_each_other(
    sums: Path, device: SimulatedDevice
) -> None:
    form, predict = hot(sums, device)
    usual = OnnxOnDevice(sums, device)
    usual.enter(2**40)
    usual_predict = usual.over(str)
    asked = [call(rows, *outputs, seed=rows) for rows in (1, 1, 64, 3, 0, 1) for outputs in ((), ("product",))]
    asked.append(call(2, "product", "twice"))
    for one in asked:
        said, expected = predict(one), usual_predict(one)
        assert isinstance(said, Outputs) == isinstance(expected, Outputs)
        for mine, theirs in zip(_arrays(said), _arrays(expected), strict=True):
            np.testing.assert_array_equal(mine, theirs)
    assert (form.bound, usual.bound) == (True, False)


def _arrays(said: Any) -> list[Any]:
    return list(said.values()) if isinstance(said, dict) else [said]


def test_an_answer_stays_what_it_is_while_the_next_call_is_answered(sums: Path, device: SimulatedDevice) -> None:
    _, predict = hot(sums, device)
    predict(call(2))
    said = predict(call(2, "twice", seed=1))
    before = said.copy()
    again = predict(call(2, "twice", seed=2))
    np.testing.assert_array_equal(said, before)
    assert not np.shares_memory(said, again)


def test_outputs_are_bound_anew_only_when_shapes_or_names_change(
    sums: Path, device: SimulatedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound = list[list[str]]()
    bind = BoundSession._bind_outputs

    def seen(self: BoundSession, names: Any) -> None:
        bound.append(list(names))
        bind(self, names)

    monkeypatch.setattr(BoundSession, "_bind_outputs", seen)
    _, predict = hot(sums, device)
    predict(call(1))  # compared with the usual way, and let go for it
    bound.clear()
    for one in (call(1), call(1, seed=3), call(2), call(2), call(2, "twice"), call(2, "twice")):
        predict(one)
    assert bound == [["twice", "product"], ["twice", "product"], ["twice"]]


def test_who_is_not_hot_binds_nothing_and_who_cools_down_lets_go(sums: Path, device: SimulatedDevice) -> None:
    form, predict = hot(sums, device)
    form.hot = False
    predict(call(1))
    assert not form.bound
    form.hot = True
    predict(call(1))
    assert form.bound
    form.hot = False
    predict(call(1))
    assert not form.bound


def test_values_that_decide_about_an_outputs_shape_are_answered_right(tmp_path: Path, device: SimulatedDevice) -> None:
    node = helper.make_node("NonZero", ["x"], ["places"])
    path = saved(tmp_path / "m.onnx", [node], {"x": [FLOAT, 1]}, {"places": TensorProto.INT64})
    form, predict = hot(path, device)
    for cells in ([1, 0, 1], [1, 1, 1], [0, 0, 0], [0, 1, 0], [1, 1, 0]):
        said = predict(SessionCall({"x": np.array(cells, np.float32)}, ["places"]))
        np.testing.assert_array_equal(said, [np.flatnonzero(cells)])
    assert form.bound, "its outputs are bound anew with each call"


@pytest.mark.parametrize(
    ("node", "inputs", "outputs", "rows"),
    [
        (
            ("Identity", ["t"], ["s"]),
            {"t": [TensorProto.STRING, 1]},
            {"s": TensorProto.STRING},
            np.array(["é", "b"], object),
        ),
        (("SplitToSequence", ["t"], ["s"]), {"t": [FLOAT, 1]}, {"s": None}, np.arange(2, dtype=np.float32)),
    ],
    ids=["text", "sequence"],
)
def test_what_is_no_tensor_of_numbers_is_predicted_in_the_usual_way(
    tmp_path: Path, device: SimulatedDevice, node: Any, inputs: Any, outputs: Any, rows: Any
) -> None:
    form, predict = hot(saved(tmp_path / "m.onnx", [helper.make_node(*node)], inputs, outputs), device)
    assert [str(one) for one in np.ravel(predict(SessionCall({"t": rows}, ["s"])))] == [str(one) for one in rows]
    assert not form.bound


@pytest.mark.parametrize("kind", ["float16", "double", "int8", "int16", "int32", "int64", "uint8", "uint64", "bool"])
def test_each_type_of_numbers_is_bound(tmp_path: Path, device: SimulatedDevice, kind: str) -> None:
    number = getattr(TensorProto, kind.upper())
    path = saved(tmp_path / "m.onnx", [helper.make_node("Identity", ["t"], ["s"])], {"t": [number, 2]}, {"s": number})
    form, predict = hot(path, device)
    rows = np.array([[0, 1], [1, 3]]).astype(kind)
    for given in (rows, rows[::-1].copy(), np.asfortranarray(rows), rows[:, ::-1]):
        np.testing.assert_array_equal(predict(SessionCall({"t": given}, ["s"])), given)
    assert form.bound


def test_one_output_that_is_asked_for_twice_is_answered_twice(sums: Path, device: SimulatedDevice) -> None:
    form, predict = hot(sums, device)
    predict(call(1, "twice", "twice"))
    assert not form.bound


def test_a_fault_of_the_request_is_told_as_ever_and_the_next_call_is_answered(
    sums: Path, device: SimulatedDevice
) -> None:
    _, predict = hot(sums, device)
    predict(call(1))
    wrong = SessionCall({"x": np.zeros(3, np.float32), "y": np.zeros((1, 3), np.float32)}, ["twice"])
    with pytest.raises(InvalidArgument, match="Invalid rank for input: x"):
        predict(wrong)
    np.testing.assert_array_equal(predict(call(1, "twice")), 2 * call(1).feed["x"])


def test_a_device_that_is_full_or_lost_at_a_bound_call_is_told_so_and_nothing_stays_bound(
    sums: Path, device: SimulatedDevice
) -> None:
    form, predict = hot(sums, device)
    predict(call(1))
    device.full_at_runs = 1
    with pytest.raises(DeviceFull, match="no memory"):
        predict(call(1))
    assert not form.bound
    predict(call(1))
    assert form.bound
    device.breaks_at_run = True
    with pytest.raises(DeviceLost):
        predict(call(1))
    assert not form.bound


def test_a_bound_output_takes_memory_of_the_device_until_it_is_let_go(sums: Path, device: SimulatedDevice) -> None:
    form, predict = hot(sums, device)
    entered_bytes = device.own_bytes()
    for _ in range(2):
        predict(call(1024))
    assert device.own_bytes() == entered_bytes + 2 * 1024 * 3 * 4
    form.shrink()
    assert (form.bound, device.own_bytes()) == (False, entered_bytes)


def test_a_peak_leaves_nothing_bound(sums: Path, device: SimulatedDevice) -> None:
    form, predict = hot(sums, device)
    for _ in range(3):
        predict(call(1))
    assert form.bound
    predict(call(1024))
    assert not form.bound


def test_a_model_that_leaves_the_device_gives_its_session_back(sums: Path, device: SimulatedDevice) -> None:
    form, predict = hot(sums, device)
    predict(call(8))
    predict(call(8))
    session = weakref.ref(form._session)
    form.leave()
    assert (session(), device.held, device.own_bytes()) == (None, 0, 0)


def test_a_model_whose_bound_answer_differs_is_never_bound_again_and_the_log_says_so(
    sums: Path, device: SimulatedDevice, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    run, bound = BoundSession.run, list[str]()

    def of_yesterday(self: BoundSession, outputs: Any, feed: Any) -> list[Any]:
        bound.extend(outputs)
        return [values + 1 for values in run(self, outputs, feed)]

    monkeypatch.setattr(BoundSession, "run", of_yesterday)
    form, predict = hot(sums, device)
    for _ in range(3):
        np.testing.assert_array_equal(predict(call(1, "twice")), 2 * call(1).feed["x"])
    assert (bound, form.bound) == (["twice"], False)
    assert "answers otherwise when its inputs and outputs are bound" in caplog.text
