"""Serves requests of other protocols by a model of any format: named tensors in, named tensors out.

A model whose rows are numbers takes one tensor of rows by columns, whatever its name, or one tensor for each column by
the column's name. Its output is `predict`. A format whose models have named inputs, or cells of several types, says
itself how they take tensors (`TensorInputs`).
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np

from torpor_container.content import RowLayout
from torpor_container.content.layout import Rows
from torpor_container.content.media import JSON, media_type, parameters
from torpor_container.content.open_inference import infer_request, infer_response
from torpor_container.content.open_inference.infer_request import InferRequest
from torpor_container.content.open_inference.infer_response import PREDICTION
from torpor_container.content.reading.categories import coded
from torpor_container.content.reading.json_rows import laid, numbers
from torpor_container.content.reading.tensors import NAMED_TYPES, Tensor, table_of
from torpor_container.content.table import Table
from torpor_container.core.protocols.protocol_types import METADATA, MODEL_NAME, MODEL_VERSION, TENSORS, TF_SERVING
from torpor_container.errors import BadInput, ContainerError, UnsupportedContentType
from torpor_container.formats.protocols.tensor_codecs import TensorCall, read_call, reply
from torpor_container.invocation import Invocation, Reply

ANY_INPUT = "input"
COLUMNS_TRIED_MAX = 1_000_000


class TensorSpec(NamedTuple):
    """One input or output, as the metadata has it; -1 for a size that is free."""

    name: str
    datatype: str
    shape: Sequence[int]

    def members(self) -> dict[str, Any]:
        return {"name": self.name, "datatype": self.datatype, "shape": list(self.shape)}


class TensorInputs(NamedTuple):
    """How a model takes named tensors: `read` makes its inputs of them and of the names of the outputs that are wanted,
    and raises BadInput. `outputs` are those that it has; without them it has one, which `predict` names."""

    read: Callable[[Mapping[str, Tensor], Sequence[str]], Any]
    inputs: Callable[[], Sequence[TensorSpec]]
    outputs: Callable[[], Sequence[TensorSpec]]
    output_names: Sequence[str] = (PREDICTION,)


class TensorExchange:
    """One request and its answer. `inputs` says how the model takes tensors."""

    def __init__(self, inputs: TensorInputs) -> None:
        self._inputs = inputs
        self._request: TensorCall | None = None

    def read(self, call: Invocation) -> Any:
        """The model's inputs. Raises BadInput, NotAcceptable."""
        request = read_call(call, lambda: {spec.name: spec.datatype for spec in self._inputs.inputs()})
        tensors: Mapping[str, Tensor] = request.tensors
        if isinstance(request, InferRequest) and request.raw is not None:
            tensors = self._raw(request.raw)
        if request.outputs:
            self._check(request.outputs)
        self._request = request
        return self._inputs.read(tensors, tuple(request.outputs))

    def reply(self, prediction: Any) -> Reply:
        """Raises Unwritable."""
        assert self._request is not None, "the request is read first"
        wanted = tuple(self._request.outputs)
        tensors = infer_response.tensors_of(prediction, (wanted or self._inputs.output_names)[0])
        return reply({name: tensors[name] for name in wanted} if wanted else tensors, self._request)

    def _check(self, wanted: Iterable[str]) -> None:
        """Raises BadInput for outputs that the model does not have."""
        if unknown := [name for name in wanted if name not in self._inputs.output_names]:
            known = ", ".join(self._inputs.output_names)
            raise BadInput(f"the model has no output {', '.join(unknown)}; its outputs are {known}")

    def _raw(self, data: bytes) -> Mapping[str, Tensor]:
        specs = self._inputs.inputs()
        if len(specs) != 1:
            names = ", ".join(spec.name for spec in specs)
            raise BadInput(f"a body without JSON is the data of the only input, and the model has {names}")
        (spec,) = specs
        return {spec.name: infer_request.raw_tensor(spec.name, spec.datatype, spec.shape, data)}


def metadata(call: Invocation, inputs: TensorInputs, platform: str) -> Reply:
    """The answer to a question about the model."""
    given = parameters(call.content_type)
    version = unquote(given.get(MODEL_VERSION, ""))
    document = {
        "name": unquote(given.get(MODEL_NAME, "")),
        **({"versions": version.split(",")} if version else {}),
        "platform": platform,
        "inputs": [spec.members() for spec in inputs.inputs()],
        "outputs": [spec.members() for spec in inputs.outputs()],
    }
    return Reply(json.dumps(document).encode(), JSON)


@lru_cache(maxsize=256)
def is_metadata(content_type: str) -> bool:
    """Whether a request asks for metadata. Raises UnsupportedContentType for a type that is neither."""
    kind = media_type(content_type)
    if kind not in (METADATA, TENSORS, TF_SERVING):
        raise UnsupportedContentType.of(content_type, (TENSORS, METADATA))
    return kind == METADATA


# -- rows of numbers ---------------------------------------------------------------------------------------------------
def of_layout(layout: RowLayout, predict: Callable[[Any], Any]) -> TensorInputs:
    """How a model takes tensors that takes rows of this layout."""
    return TensorInputs(
        lambda tensors, wanted: rows_of(tensors, layout),
        lambda: inputs_of(layout),
        lambda: tried_output(layout, predict),
    )


def rows_of(tensors: Mapping[str, Tensor], layout: RowLayout) -> Rows:
    """Raises BadInput."""
    given = list(tensors.values())
    categories = None if layout.categories is None else layout.categories()
    if categories is not None:
        return layout.cast(coded(table_for_rows(given), categories))
    if len(given) == 1 and len(given[0].shape) == 2:
        return fitted(given[0], layout)
    return laid(table_for_rows(given), layout)


def table_for_rows(given: Sequence[Tensor]) -> Table:
    """Rows by position of one tensor of rows by columns, or by name of a tensor for each column. Raises BadInput."""
    if len(given) == 1 and len(given[0].shape) == 2:
        return Table(given[0].nested)
    values, names = table_of(given)
    return Table(values, names, in_order=len(given) == 1)


def fitted(tensor: Tensor, layout: RowLayout) -> Rows:
    """The rows of one tensor. Raises BadInput, which names it."""
    try:
        if tensor.array is not None and tensor.datatype != "BYTES":
            given = tensor.array
            return layout.fit(given if given.dtype == layout.dtype else layout.cast(given))
        if layout.floats and tensor.datatype == "BYTES":
            raise BadInput(f"{layout.kind.refusal}, and the tensor is of datatype BYTES")
        nested = layout.table and all(tensor.shape)  # so that an error names the row
        return layout.fit(numbers(tensor.nested if nested else tensor.flat, layout).reshape(tensor.shape))
    except (BadInput, ValueError) as error:
        raise BadInput(f"tensor {tensor.name}: {error}") from None


def inputs_of(layout: RowLayout) -> list[TensorSpec]:
    """One tensor of rows by columns; where the model has learned categories, one for each column."""
    datatype = NAMED_TYPES[np.dtype(layout.dtype).name]
    categories = None if layout.categories is None else layout.categories()
    if categories is None or layout.columns is None:
        return [TensorSpec(ANY_INPUT, datatype, (-1, layout.columns or -1))]
    names = layout.names() or [f"f{place}" for place in range(layout.columns)]
    text = [any(isinstance(one, str) for one in categories.learned.get(place, ())) for place in range(layout.columns)]
    return [
        TensorSpec(name, "BYTES" if is_text else datatype, (-1, 1)) for name, is_text in zip(names, text, strict=True)
    ]


def tried_output(layout: RowLayout, predict: Callable[[Any], Any]) -> list[TensorSpec]:
    """The output, as one row of zeros shows it; numbers of any shape where the model refuses that row."""
    if layout.columns is not None and 0 < layout.columns <= COLUMNS_TRIED_MAX:
        try:
            array = infer_response.array_of_values(predict(np.zeros((1, layout.columns), layout.dtype)))
        except (ValueError, TypeError, ArithmeticError, LookupError, RuntimeError, ContainerError):
            pass  # its metadata then say what is sure
        else:
            return [TensorSpec(PREDICTION, infer_response.datatype_of(array.dtype), (-1, *array.shape[1:]))]
    return [TensorSpec(PREDICTION, "FP64", (-1,))]
