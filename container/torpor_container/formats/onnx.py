"""ONNX, by ONNX Runtime on one thread. The first output is the answer.

A model with one input takes rows of any content type, or a tensor as JSON or npy. A model with several takes JSON that
names them: `{"inputs": {"age": [[41]], "city": [["Oslo"]]}}`, or the inner object alone. A tensor of text takes text
alone, a CSV cell as it stands; one of whole numbers or of truths takes no value that is not one of its own.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np

from torpor_container.content import Layout, Rows, decode
from torpor_container.content.json_rows import numbers, parse, table
from torpor_container.content.media import JSON, media_type
from torpor_container.errors import BadInput, LoadFailed
from torpor_container.formats.format import Conventions, Format, Model, named
from torpor_container.formats.served import ServedModel
from torpor_container.invocation import Invocation

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # its wheels collect usage data unless told not to at import

Feed = dict[str, Rows]

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


def load(path: Path, conventions: Conventions) -> Model:
    """Raises LoadFailed."""
    import onnxruntime
    from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its many exceptions share no base but Exception
        raise LoadFailed(f"{path.name} is not a model that ONNX Runtime can read: {error}") from error
    layouts = {source.name: _layout(source) for source in session.get_inputs()}
    answer = session.get_outputs()[0].name
    return ServedModel(
        format=FORMAT.name,
        native=session,
        read=lambda call: read(call, layouts),
        predict=lambda feed: session.run([answer], feed)[0],
        answers=conventions.toolkit,
        refusals=(InvalidArgument, ValueError),
    )


def read(call: Invocation, layouts: dict[str, Layout]) -> Feed:
    """A tensor for each input. Raises BadInput, which names the inputs, and UnsupportedContentType."""
    if media_type(call.content_type) == JSON and call.body:
        return _from_json(parse(call.body), layouts)
    if len(layouts) > 1:
        raise _several(layouts)
    return {name: decode(call.body, call.content_type, layout) for name, layout in layouts.items()}


def _from_json(value: Any, layouts: dict[str, Layout]) -> Feed:
    tensors = value.get("inputs", value) if isinstance(value, dict) else value
    if isinstance(tensors, dict) and layouts.keys() <= tensors.keys():
        return {name: layout.fit(numbers(tensors[name], layout)) for name, layout in layouts.items()}
    if len(layouts) > 1:
        raise _several(layouts)
    return {name: layout.fit(numbers(table(value).values, layout)) for name, layout in layouts.items()}


def _several(layouts: dict[str, Layout]) -> BadInput:
    return BadInput(f"the model has several inputs; send JSON with a tensor for each: {', '.join(layouts)}")


def _layout(source: Any) -> Layout:
    """Raises LoadFailed for an input of a type that DTYPES has not."""
    if source.type not in DTYPES:
        raise LoadFailed(f"input {source.name} is a {source.type}, and only these are taken: {', '.join(DTYPES)}")
    table = len(source.shape) == 2
    columns = source.shape[1] if table and isinstance(source.shape[1], int) else None
    return Layout(DTYPES[source.type], columns, absent=0.0, table=table)


FORMAT = Format(
    "onnx", named("*.onnx"), load, bytes_per_artifact_byte=6.0, fixed_bytes=128 * 1024, frameworks=("onnxruntime",)
)
