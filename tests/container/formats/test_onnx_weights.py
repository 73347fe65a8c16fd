"""A parted ONNX model says what the whole one says, and bytes that are no model are refused."""

import io
import random
from pathlib import Path

import numpy as np
import onnx
import pytest
from google.protobuf.message import DecodeError
from onnx import ModelProto, TensorProto, helper, numpy_helper

from tests.helpers.thorough_values import thorough
from torpor_container.formats import onnx_weights
from torpor_container.formats.format import NotMapped
from torpor_container.formats.onnx_weights import Damaged, graph_of, part

NAME = "weights.onnx-1"
WIDTH = 300


def network(width: int = WIDTH, **changes: object) -> ModelProto:
    dice = np.random.default_rng(5)
    weights = [numpy_helper.from_array(dice.normal(size=(width, width)).astype(np.float32), name) for name in "vw"]
    small = numpy_helper.from_array(dice.normal(size=(width,)).astype(np.float32), "b")
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "v"], ["h"]),
            helper.make_node("Add", ["h", "b"], ["s"]),
            helper.make_node("MatMul", ["s", "w"], ["y"]),
        ],
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, width])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, width])],
        [*weights, small],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def parted(model: bytes, path: Path) -> Path:
    with path.open("wb") as file:
        part(memoryview(model), path.name, file)
    return path


def whole_again(path: Path) -> ModelProto:
    """The model with its weights where they were."""
    model = ModelProto()
    model.ParseFromString(graph_of(path))
    for tensor in model.graph.initializer:
        if tensor.data_location:
            place = {entry.key: entry.value for entry in tensor.external_data}
            offset = int(place["offset"])
            assert place["location"] == path.name
            tensor.raw_data = path.read_bytes()[offset : offset + int(place["length"])]
            tensor.ClearField("data_location")
            tensor.ClearField("external_data")
    return model


def test_a_parted_model_is_the_same_model(tmp_path: Path) -> None:
    model = network()
    path = parted(model.SerializeToString(), tmp_path / NAME)
    assert whole_again(path) == model
    assert len(graph_of(path)) < 4096


def test_weights_begin_at_pages_and_small_ones_stay(tmp_path: Path) -> None:
    path = parted(network().SerializeToString(), tmp_path / NAME)
    tensors = {one.name: one for one in ModelProto.FromString(graph_of(path)).graph.initializer}
    places = {name: {entry.key: entry.value for entry in tensors[name].external_data} for name in "vw"}
    assert {place["location"] for place in places.values()} == {NAME}
    assert [int(place["offset"]) % 4096 for place in places.values()] == [0, 0]
    assert tensors["b"].raw_data


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (b"", "not exactly one graph"),
        (b"\x08\x09" + b"\x3a\x00" * 2, "not exactly one graph"),
        (b"\x38\x00", "not exactly one graph"),
        (b"\x3a\x80", "a number has no end"),
        (b"\x3a" + b"\xff" * 10 + b"\x01", "a number has no end"),
        (b"\x3a\x05\x00", "a field ends after its message"),
        (b"\x02\x00", "a field ends after its message"),
        (b"\x0b\x0c", "a field has the wire type 3"),
        (network(8).SerializeToString(), "only 0 bytes of its weights could be shared"),
        (network(100).SerializeToString(), "only 80,000 bytes of its weights could be shared"),
    ],
    ids=repr,
)
def test_bytes_that_are_no_model_and_small_models_are_refused(tmp_path: Path, model: bytes, why: str) -> None:
    with pytest.raises(NotMapped, match=why):
        parted(model, tmp_path / NAME)


def test_a_model_with_weights_in_other_files_stays_as_it_is(tmp_path: Path) -> None:
    model = network()
    onnx.external_data_helper.set_external_data(model.graph.initializer[0], "../../secrets")
    with pytest.raises(NotMapped, match="weights in other files already"):
        parted(model.SerializeToString(), tmp_path / NAME)


@pytest.mark.parametrize("seed", [0, *thorough(1, 2, 3)])
def test_a_mutated_model_is_refused_or_is_what_protobuf_reads(tmp_path: Path, seed: int) -> None:
    """120 models each, with bytes changed, removed, repeated: near the beginning, the end and the fields of tensors."""
    dice, original = random.Random(seed), network().SerializeToString()
    fields = [at for at in range(len(original)) if not 200 < at % (WIDTH * WIDTH * 4) < WIDTH * WIDTH * 4 - 400]
    outcomes = set[str]()
    for number in range(120):
        model = bytearray(original)
        for _ in range(dice.randint(1, 4)):
            at = dice.choice(fields)
            match dice.randint(0, 2):
                case 0:
                    model[at : at + 1] = dice.randbytes(1)
                case 1:
                    del model[at : at + dice.choice((1, 2, 1000))]
                case _:
                    model[at:at] = model[at : at + dice.choice((1, 10, 4000))]
        try:
            path = parted(bytes(model), tmp_path / f"{number}")
        except NotMapped:
            outcomes.add("refused")
            continue
        try:
            read = ModelProto.FromString(bytes(model))
        except DecodeError:  # the bytes of a node, say, which ONNX Runtime refuses in either form
            outcomes.add("copied")
            continue
        assert whole_again(path).SerializeToString(deterministic=True) == read.SerializeToString(deterministic=True)
        outcomes.add("parted")
    assert outcomes >= {"refused", "parted"}


@pytest.mark.parametrize("end", [b"", b"x" * 28, b"x" * 100])
def test_a_file_that_does_not_end_as_written_is_damaged(tmp_path: Path, end: bytes) -> None:
    path = tmp_path / NAME
    path.write_bytes(end)
    with pytest.raises(Damaged):
        graph_of(path)


def test_a_graph_that_was_changed_is_damaged(tmp_path: Path) -> None:
    path = parted(network().SerializeToString(), tmp_path / NAME)
    content = bytearray(path.read_bytes())
    content[-onnx_weights.END.size - 10] ^= 1
    path.write_bytes(content)
    with pytest.raises(Damaged, match="not what was written"):
        graph_of(path)


def test_the_weights_are_copied_in_their_order() -> None:
    file = io.BytesIO()
    assert part(memoryview(network().SerializeToString()), NAME, file) == 2 * WIDTH * WIDTH * 4
