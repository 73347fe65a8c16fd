"""Serves ONNX models, by ONNX Runtime on one thread. A model with several outputs answers all, by name, or named ones.

A model with one input takes rows of any content type, or a tensor as JSON or npy. A model with several takes each by
name: JSON as `{"inputs": {"age": [[41]], "city": [["Oslo"]]}}`, or the inner object alone; tensors of the Open
Inference Protocol; and, where an input is a column, records, CSV with a header and data frames. Named columns of a
model with one input go by their order, and records, which have none, are refused. A tensor of text takes
text alone, a CSV cell as it stands; one of whole numbers or of truths takes no value that is not one of its own.

One output is named in Accept, `application/json; output=probabilities`, or by the protocol's `outputs`.
"""

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from torpor_container.content import RowLayout, Rows, decode
from torpor_container.content.column_names import misnamed
from torpor_container.content.kinds import TEXT
from torpor_container.content.media import JSON, media_type, parameters
from torpor_container.content.plain import Outputs
from torpor_container.content.reading import tensors as protocol
from torpor_container.content.reading.cell_tables import as_rows, read_table
from torpor_container.content.reading.json_rows import bare, laid, numbers, table
from torpor_container.content.reading.json_values import parse
from torpor_container.content.reading.tensors import NAMED_TYPES, Tensor, are_tensors
from torpor_container.content.table import Table
from torpor_container.errors import BadInput, LoadFailed
from torpor_container.formats import onnx_weights
from torpor_container.formats.format import ByteProof, Conventions, Format, Mapped, MappedForm, ServableModel, named
from torpor_container.formats.protocols.named_tensors import TensorInputs, TensorSpec, fitted
from torpor_container.formats.served import ServedModel
from torpor_container.formats.sound import plain_networks
from torpor_container.formats.sound.one_reading import Contents, proved
from torpor_container.invocation import Invocation
from torpor_container.processes.import_steps import Step

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # else its wheels collect usage data

ONNX = "onnx"
AS_PROVED = {"session.load_model_format": "ONNX"}
"""By itself, ONNX Runtime takes a file for another form whose name ends with `.ort`."""
Feed = dict[str, Rows]
Layouts = Mapping[str, RowLayout]

DTYPES: dict[str, Any] = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int8)": np.int8,
    "tensor(int16)": np.int16,
    "tensor(int32)": np.int32,
    "tensor(int64)": np.int64,
    "tensor(uint8)": np.uint8,
    "tensor(uint16)": np.uint16,
    "tensor(uint32)": np.uint32,
    "tensor(uint64)": np.uint64,
    "tensor(bool)": np.bool_,
    "tensor(string)": np.object_,
}


def load(path: Path, conventions: Conventions) -> ServableModel:
    """Raises LoadFailed."""
    onnx_weights.check_places(path)
    return _served(path, str(path), {}, conventions, None)


def _proved(content: bytes) -> bytes | None:
    return content if plain_networks.is_sound(content) else None


def _load_proved(contents: Contents, path: Path, conventions: Conventions) -> ServableModel:
    return _served(path, contents[0], {}, conventions, None)


def open_mapped(path: Path, mapped: Mapped, conventions: Conventions) -> ServableModel:
    """Serves a model whose weights are in a file that instances map. Without packed copies of the weights, a session
    holds hardly any memory of its own. Raises LoadFailed, Damaged, OSError."""
    shared = {
        "session.model_external_initializers_file_folder_path": os.path.dirname(mapped.path),
        "session.disable_prepacking": "1",
    }
    return _served(path, onnx_weights.graph_of(Path(mapped.path)), shared, conventions, mapped)


def _served(
    path: Path, model: str | bytes, entries: Mapping[str, str], conventions: Conventions, mapped: Mapped | None
) -> ServableModel:
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as native

    unreadable = _raised_by(native)
    # Fewer optimisations would open small networks in half the time, and change the last bits of answers: the default
    # ones move a number from before a product to behind it, for example.
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_mem_pattern = mapped is None  # it would reserve room for the weights that are mapped
    for entry, value in {**AS_PROVED, **entries}.items():
        options.add_session_config_entry(entry, value)
    try:
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except unreadable as error:
        raise LoadFailed(f"{path.name} is not a model that ONNX Runtime can read: {error}") from error
    session._model_bytes = None  # it would keep them for ever, for a session anew on other devices
    layouts = {source.name: _layout(source) for source in session.get_inputs()}
    outputs = [output.name for output in session.get_outputs()]
    return ServedModel(
        format=FORMAT.name,
        native=session,
        read=partial(read, layouts=layouts, outputs=outputs),
        predict=_predictor(session),
        answers=conventions.toolkit,
        refusals=(native.InvalidArgument, ValueError),
        note="its weights are mapped, once for all instances of the machine" if mapped else "",
        mapped=mapped,
        tensors=_tensor_inputs(session, layouts, outputs),
    )


@cache
def _raised_by(native: Any) -> tuple[type[Exception], ...]:
    """What ONNX Runtime raises for a model that it cannot read."""
    own = [kind for kind in vars(native).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    return (RuntimeError, ValueError, OSError, *own)


def _tensor_inputs(session: Any, layouts: Layouts, outputs: list[str]) -> TensorInputs:
    """Each input by its name; the outputs that are wanted, or all."""
    return TensorInputs(
        lambda tensors, wanted: SessionCall(_from_tensors(tensors, layouts), list(wanted) or outputs),
        lambda: [_spec(source) for source in session.get_inputs()],
        lambda: [_spec(source) for source in session.get_outputs()],
        tuple(outputs),
    )


def _spec(source: Any) -> TensorSpec:
    """A sequence of maps, as classifiers give, is JSON for each row."""
    datatype = NAMED_TYPES[np.dtype(DTYPES[source.type]).name] if source.type in DTYPES else "BYTES"
    shape = source.shape if source.type in DTYPES else (-1,)
    return TensorSpec(source.name, datatype, [size if isinstance(size, int) else -1 for size in shape])


class SessionCall(NamedTuple):
    """The inputs of one call of a session, and the outputs that it must return."""

    feed: Feed
    outputs: list[str]


def _predictor(session: Any) -> Callable[[SessionCall], Any]:
    """The one output that was asked for, or several, by name. `InferenceSession.run` would look at the names of the
    feed, which `read` has made, and search it for tensors on other devices: a fifth of a small prediction."""
    run = session._sess.run

    def predicted(asked: SessionCall) -> Any:
        feed, outputs = asked
        values = run(outputs, feed, None)
        return values[0] if len(values) == 1 else Outputs(zip(outputs, values, strict=True))

    return predicted


def read(call: Invocation, layouts: Layouts, outputs: list[str]) -> SessionCall:
    """A tensor for each input. Raises BadInput, which names the inputs, and UnsupportedContentType."""
    wanted = _named_outputs(call.accept, outputs) if call.accept and "output" in call.accept.lower() else outputs
    if media_type(call.content_type) == JSON and call.body:
        asked = _of_json(parse(call.body), layouts, outputs, wanted)
        if any(layouts[name].floats and np.isinf(rows).any() for name, rows in asked.feed.items()):
            _of_json(parse(call.body, exactly=True), layouts, outputs, wanted)  # it refuses what no float can hold
        return asked
    if len(layouts) == 1:
        [(name, layout)] = layouts.items()
        return SessionCall({name: decode(call.body, call.content_type, layout)}, wanted)
    return SessionCall(_from_table(read_table(call.body, call.content_type), layouts), wanted)


def _of_json(value: Any, layouts: Layouts, outputs: list[str], wanted: list[str]) -> SessionCall:
    if isinstance(value, dict) and are_tensors(value.get("inputs")):
        named = _known(protocol.asked(value).outputs, outputs)
        return SessionCall(_from_tensors(protocol.tensors(value["inputs"]), layouts), named or wanted)
    return SessionCall(_from_json(value, layouts), wanted)


def _named_outputs(accept: str, outputs: list[str]) -> list[str]:
    """The outputs that a parameter `output` names; all if there is none. Raises BadInput."""
    given = (parameters(one).get("output") for one in accept.split(","))
    return _known([name for name in given if name], outputs) or outputs


def _known(names: Sequence[str], outputs: list[str]) -> list[str]:
    if unknown := [name for name in names if name not in outputs]:
        raise BadInput(f"the model has no output {', '.join(unknown)}; its outputs are {', '.join(outputs)}")
    return list(names)


def _from_json(value: Any, layouts: Layouts) -> Feed:
    tensors = value.get("inputs", value) if isinstance(value, dict) else value
    if isinstance(tensors, dict) and (layouts.keys() & tensors.keys() or tensors is not value):
        _check_names(list(tensors), layouts)
        if all(layout.columns == 1 for layout in layouts.values()) and not any(map(_is_nested, tensors.values())):
            return _from_table(bare(tensors), layouts)
        return {name: layout.fit(numbers(tensors[name], layout)) for name, layout in layouts.items()}
    read = table(value)
    if len(layouts) > 1 or (read.names and set(map(str, read.names)) == layouts.keys()):
        return _from_table(as_rows(read), layouts)
    return {name: layout.fit(laid(read, layout)) for name, layout in layouts.items()}


def _is_nested(value: Any) -> bool:
    """Whether it is a tensor of more than one dimension, and no column or cell."""
    return isinstance(value, list) and any(isinstance(cell, list) for cell in value)


def _from_tensors(tensors: Mapping[str, Tensor], layouts: Layouts) -> Feed:
    """The feed. Raises BadInput for tensors that are not inputs, or have another rank or type."""
    _check_names(list(tensors), layouts)
    return {name: _fitting(tensors[name], layout) for name, layout in layouts.items()}


def _fitting(tensor: Tensor, layout: RowLayout) -> Rows:
    if layout.table and len(tensor.shape) != 2:
        raise BadInput(f"input {tensor.name} is rows by columns, and the tensor has the shape {list(tensor.shape)}")
    return fitted(tensor, layout)


def _from_table(read: Table, layouts: Layouts) -> Feed:
    """A column for each input. Raises BadInput if the columns have no names, or wrong ones."""
    if read.names is None:
        raise _several(layouts)
    names = [str(name) for name in read.names]
    _check_names(names, layouts)
    columns = dict(zip(names, zip(*read.values, strict=True), strict=True))
    return {name: _column(name, columns[name], read.text, layout) for name, layout in layouts.items()}


def _column(name: str, cells: Sequence[Any], text: bool, layout: RowLayout) -> Rows:
    """One column, of rank 1 or of rank 2 with one column, as the input has it."""
    values = [_cell(name, number, cell, layout) for number, cell in enumerate(cells, start=1)] if text else list(cells)
    array = numbers([[value] for value in values] if layout.table else values, layout)
    return layout.fit(array.reshape(len(cells), -1) if layout.table else array)


def _cell(name: str, row: int, text: str, layout: RowLayout) -> object:
    if layout.kind is TEXT:
        return text
    try:
        return layout.kind.read(text.strip().encode()) if text.strip() else layout.kind.empty
    except ValueError:
        raise BadInput(f"row {row}, column {name}: {layout.kind.wrong.format(repr(text[:40]))}") from None


def _check_names(names: Sequence[str], layouts: Layouts) -> None:
    if Counter(names) != Counter(layouts.keys()):
        raise BadInput(f"{misnamed(names, list(layouts), 'inputs')} (the model's are {', '.join(layouts)})")


def _several(layouts: Layouts) -> BadInput:
    return BadInput(
        f"the model has several inputs; send JSON with a tensor for each, or records, or CSV with a header: "
        f"{', '.join(layouts)}"
    )


def _layout(source: Any) -> RowLayout:
    """The layout of an input. Raises LoadFailed for a type that is not in DTYPES."""
    if source.type not in DTYPES:
        raise LoadFailed(f"input {source.name} is a {source.type}, and Torpor takes only these: {', '.join(DTYPES)}")
    table = len(source.shape) == 2
    columns = source.shape[1] if table and isinstance(source.shape[1], int) else None
    return RowLayout(DTYPES[source.type], columns, absent=0.0, table=table, sparse=False)


MAPPED = MappedForm(
    kind="onnx-1",
    least_bytes=onnx_weights.WORTH_BYTES,
    write=onnx_weights.write,
    prove="torpor_container.formats.onnx_proof:prove",
    open=open_mapped,
    until_hot=True,
)
FORMAT = Format(
    ONNX,
    named("*.onnx"),
    load,
    bytes_per_artifact_byte=6.0,
    fixed_bytes=128 * 1024,
    frameworks=("onnxruntime",),
    step=lambda path: Step.BARE,
    mapped=MAPPED,
    proof=ByteProof(lambda path: proved(path, (plain_networks.BEGINNING,), _proved), _load_proved),
)
