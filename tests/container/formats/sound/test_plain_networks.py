"""What is taken for a plain network is loaded and run by ONNX Runtime without harm."""

import random
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.container.helpers.proved_models import load_after_replacement
from torpor_container.formats.onnx import FORMAT
from torpor_container.formats.sound.plain_networks import is_sound

onnx: Any = pytest.importorskip("onnx")
COLUMNS, HIDDEN, OUTPUTS = 3, 4, 2


def network(*nodes: Any, rows: object = "rows", outputs: int | None = OUTPUTS, opset: int = 13) -> Any:
    """A model of these nodes, from `x` to `y`, and what it may use: weights `w`, `v` and `c`, biases `b` and `o`."""
    dice = np.random.default_rng(7)
    shapes = {"w": (COLUMNS, HIDDEN), "b": (HIDDEN,), "v": (OUTPUTS, HIDDEN), "o": (1, OUTPUTS), "c": ()}
    weights = [onnx.numpy_helper.from_array(dice.random(shape, np.float32), name) for name, shape in shapes.items()]
    sides = [
        onnx.helper.make_tensor_value_info(name, 1, [rows, size]) for name, size in (("x", COLUMNS), ("y", outputs))
    ]
    graph = onnx.helper.make_graph(nodes, "plain", sides[:1], sides[1:], weights)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], producer_name="here")
    model.ir_version = 8
    return model


def node(kind: str, inputs: str, output: str, **attributes: object) -> Any:
    return onnx.helper.make_node(kind, inputs.split(), [output], **attributes)


def layers(**attributes: Any) -> list[Any]:
    """Two layers."""
    first, second = node("Gemm", "x w b", "s", **attributes), node("Gemm", "h v o", "y", transB=1, alpha=0.5)
    return [first, node("Relu", "s", "h"), second]


def behind(kind: str) -> Any:
    """An operator that keeps the shape, behind a layer."""
    return network(*ONE_LAYER, node(kind, "p", "y"), outputs=HIDDEN)


ALIKE = ("Sigmoid", "Softplus", "Identity", "LeakyRelu", "Elu", "Selu", "Softmax", "LogSoftmax", "Flatten")
ONE_LAYER = [node("MatMul", "x w", "p")]
NORMALIZED = node("BatchNormalization", "p b b b b", "y", epsilon=0.01)
PLAIN: dict[str, Callable[[], Any]] = {
    "two layers": lambda: network(*layers()),
    "rows as many as the file says": lambda: network(*layers(), rows=2),
    "columns of answers that the file does not say": lambda: network(*layers(), outputs=None),
    "a bias behind a product": lambda: network(*ONE_LAYER, node("Add", "b p", "y"), outputs=HIDDEN),
    "normalized": lambda: network(*ONE_LAYER, NORMALIZED, outputs=HIDDEN),
    "two ways": lambda: network(*ONE_LAYER, node("Tanh", "p", "t"), node("Mul", "p t", "y"), outputs=HIDDEN),
    "one number for all": lambda: network(*ONE_LAYER, node("Div", "p c", "y"), outputs=HIDDEN),
    **{kind: partial(behind, kind) for kind in ALIKE},
    "the oldest operators": lambda: network(*layers(), opset=7),
    "the newest operators": lambda: network(*layers(), opset=21),
}


@pytest.mark.parametrize("what", PLAIN)
def test_plain_networks_need_no_trial_and_answer(what: str, tmp_path: Path) -> None:
    content = PLAIN[what]().SerializeToString()
    (tmp_path / "m.onnx").write_bytes(content)
    assert is_sound(content)
    assert answers(tmp_path / "m.onnx")


def test_weights_as_numbers_of_their_own_field_are_read() -> None:
    model = network(*layers())
    model.graph.initializer[0].float_data.extend(range(COLUMNS * HIDDEN))
    assert not is_sound(model.SerializeToString()), "they stand twice"
    model.graph.initializer[0].ClearField("raw_data")
    assert is_sound(model.SerializeToString())


def answers(path: Path) -> bool:
    """Whether it answers rows, though its file was replaced after its proof; if not, it has said why."""
    model = load_after_replacement(FORMAT, path)
    [source] = model.native.get_inputs()
    rows = source.shape[0] if isinstance(source.shape[0], int) else 3
    try:
        return bool(model.native.run(None, {source.name: np.ones((rows, source.shape[1]), np.float32)}))
    except Exception:  # noqa: BLE001  ONNX Runtime's errors have no class of their own
        return False


# -- what is to be tried -----------------------------------------------------------------------------------------------
def changed(change: Callable[[Any], object], *nodes: Any) -> bytes:
    model = network(*(nodes or layers()))
    change(model)
    return bytes(model.SerializeToString())


def sizes(model: Any, *numbers: int, name: int = 0) -> None:
    """Say another shape of a weight."""
    del model.graph.initializer[name].dims[:]
    model.graph.initializer[name].dims.extend(numbers)


def on_disk(model: Any) -> None:
    entry = model.graph.initializer[0].external_data.add()
    entry.key, entry.value = "location", "/dev/zero"


def rename(model: Any, place: int, *names: str) -> None:
    del model.graph.node[place].input[:]
    model.graph.node[place].input.extend(names)


def side(model: Any, column: int) -> None:
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = column


OTHERS: dict[str, Callable[[], bytes]] = {
    "nothing": lambda: b"",
    "cut off": lambda: changed(lambda model: None)[:-1],
    "more behind it": lambda: changed(lambda model: None) + b"\0",
    "two graphs, which are merged": lambda: changed(lambda model: None) + network(*ONE_LAYER).SerializeToString(),
    "no version": lambda: changed(lambda model: model.ClearField("ir_version")),
    "a version to come": lambda: changed(lambda model: setattr(model, "ir_version", 99)),
    "operators to come": lambda: changed(lambda model: setattr(model.opset_import[0], "version", 99)),
    "operators of two": lambda: changed(lambda model: model.opset_import.add(domain="ai.onnx.ml", version=3)),
    "operators of another": lambda: changed(lambda model: setattr(model.opset_import[0], "domain", "com.microsoft")),
    "functions": lambda: changed(lambda model: model.functions.add(name="f")),
    "an operator of another": lambda: changed(lambda model: setattr(model.graph.node[1], "domain", "com.microsoft")),
    "an operator that is not known": lambda: changed(lambda model: setattr(model.graph.node[1], "op_type", "Sin")),
    "weights in another file": lambda: changed(on_disk),
    "weights with more bytes": lambda: changed(lambda model: sizes(model, COLUMNS, HIDDEN - 1)),
    "weights with fewer bytes": lambda: changed(lambda model: sizes(model, COLUMNS, HIDDEN + 1)),
    "weights of no columns": lambda: changed(lambda model: sizes(model, 0, HIDDEN)),
    "weights of negative sides": lambda: changed(lambda model: sizes(model, -COLUMNS, -HIDDEN)),
    "weights whose size is beyond all numbers": lambda: changed(lambda model: sizes(model, 2**62, 2**62)),
    "weights in a cube": lambda: changed(lambda model: sizes(model, 1, COLUMNS, HIDDEN)),
    "weights turned around": lambda: changed(lambda model: sizes(model, HIDDEN, COLUMNS)),
    "a bias of another length": lambda: changed(lambda model: sizes(model, 1, 2, name=1)),
    "weights of whole numbers": lambda: changed(lambda model: setattr(model.graph.initializer[0], "data_type", 6)),
    "two weights of one name": lambda: changed(lambda model: setattr(model.graph.initializer[4], "name", "w")),
    "a weight without a name": lambda: changed(lambda model: setattr(model.graph.initializer[4], "name", "")),
    "a weight of the input's name": lambda: changed(lambda model: setattr(model.graph.initializer[4], "name", "x")),
    "an input that is not there": lambda: changed(lambda model: rename(model, 1, "z")),
    "an input that comes later": lambda: changed(lambda model: rename(model, 1, "y")),
    "too few inputs": lambda: changed(lambda model: rename(model, 0, "x")),
    "too many inputs": lambda: changed(lambda model: rename(model, 0, "x", "w", "b", "b")),
    "an input that is left out": lambda: changed(lambda model: rename(model, 0, "x", "w", "")),
    "weights for rows": lambda: changed(lambda model: rename(model, 1, "w")),
    "rows for weights": lambda: changed(lambda model: rename(model, 2, "h", "h")),
    "a value made twice": lambda: changed(lambda model: model.graph.node[1].output.__setitem__(0, "s")),
    "a weight made by an operator": lambda: changed(lambda model: model.graph.node[1].output.__setitem__(0, "c")),
    "an operator that makes two": lambda: changed(lambda model: model.graph.node[1].output.append("z")),
    "an operator that makes nothing": lambda: changed(lambda model: model.graph.node[1].output.__setitem__(0, "")),
    "columns that do not fit": lambda: changed(lambda model: side(model, COLUMNS + 1)),
    "columns that are no number": lambda: changed(lambda model: side(model, -1)),
    "two inputs": lambda: changed(lambda model: model.graph.input.append(model.graph.output[0])),
    "no output": lambda: changed(lambda model: model.graph.ClearField("output")),
    "an output that nothing makes": lambda: changed(lambda model: setattr(model.graph.output[0], "name", "z")),
    "an output of other columns": lambda: network(*layers(), outputs=OUTPUTS + 1).SerializeToString(),
    "no operators": lambda: changed(lambda model: model.graph.ClearField("node")),
    "a turned input": lambda: changed(lambda model: None, *layers(transA=1)),
    "an attribute that is not known": lambda: changed(lambda model: None, *layers(), node("Relu", "y", "z", alpha=1.0)),
    "an attribute of another type": lambda: changed(lambda model: None, *layers(alpha=1)),
    "an attribute without an end": lambda: changed(lambda model: None, *layers(beta=float("nan"))),
    "an attribute of several": lambda: changed(lambda model: None, *layers(alpha=[1.0, 2.0])),
    "an attribute twice": lambda: changed(
        lambda model: model.graph.node[2].attribute.append(model.graph.node[2].attribute[0])
    ),
    "a name that is no text": lambda: changed(lambda model: None).replace(b"\x01s", b"\x01\xff"),
    "a side that is no text": lambda: changed(lambda model: None).replace(b"\x04rows", b"\x04row\xff"),
    "values that are said": lambda: changed(lambda model: model.graph.value_info.append(model.graph.output[0])),
    "very many operators": lambda: network(
        *layers(), *(node("Relu", f"y{number or ''}", f"y{number + 1}") for number in range(1000))
    ).SerializeToString(),
}


@pytest.mark.parametrize("what", OTHERS)
def test_anything_else_is_to_be_tried(what: str) -> None:
    assert is_sound(network(*layers()).SerializeToString())
    assert not is_sound(OTHERS[what]())


# -- mutated files -----------------------------------------------------------------------------------------------------
def mutated(known: bytes, seed: int) -> bytes:
    """The bytes with one or two of them changed, cut out or doubled."""
    chance = random.Random(seed)
    broken = bytearray(known)
    for _ in range(chance.randint(1, 2)):
        at = chance.randrange(len(broken))
        match chance.randrange(5):
            case 0:
                del broken[at]
            case 1:
                broken.insert(at, broken[at])
            case 2:
                broken[at] ^= 1 << chance.randrange(8)
            case _:
                broken[at] = chance.randrange(256)
    return bytes(broken)


PROGRAM = """
import sys
from pathlib import Path
from tests.container.formats.sound.test_plain_networks import answers
from torpor_container.errors import LoadFailed
for path in sorted(Path(sys.argv[1]).iterdir()):
    try:
        answers(path)
    except LoadFailed:
        pass
    print(path.name, flush=True)
"""


def _mutated(folder: Path, seeds: range) -> None:
    """Whatever is taken of mutated files is run, or refused with an error, in a process that does not end."""
    taken = 0
    for seed in seeds:
        kind = list(PLAIN)[seed % len(PLAIN)]
        broken = mutated(PLAIN[kind]().SerializeToString(), seed)
        if is_sound(broken):
            (folder / f"{seed}.onnx").write_bytes(broken)
            taken += 1
    assert taken > len(seeds) / 20, "most weights may have any bits, and names any letters"
    told = subprocess.run([sys.executable, "-c", PROGRAM, folder], capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    assert len(told.stdout.split()) == taken


def test_what_is_taken_of_mutated_files_ends_no_process(tmp_path: Path) -> None:
    _mutated(tmp_path, range(400))


@pytest.mark.thorough
def test_what_is_taken_of_many_mutated_files_ends_no_process(tmp_path: Path) -> None:
    _mutated(tmp_path, range(400, 20_000))
