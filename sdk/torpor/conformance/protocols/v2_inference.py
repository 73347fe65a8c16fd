"""The Open Inference Protocol over REST: inference with tensors in JSON, and how it is refused."""

from math import prod
from typing import Any

from torpor.conformance.container import CheckedContainer, UseCase
from torpor.conformance.container_client import ContainerAnswer
from torpor.conformance.judging import expect, json_of, skip
from torpor.conformance.protocols.served_model import (
    REFUSED,
    Json,
    asked,
    flattened,
    given_request,
    listed,
    model_of,
    nested,
    object_of,
    refusal,
    text,
)
from torpor.conformance.protocols.v2_models import check_described, metadata_answer
from torpor.conformance.rule import Level, Source, rule

V2 = frozenset({UseCase.V2})
SAMPLES = {"BOOL": True, "BYTES": "a", "FP16": 1.0, "FP32": 1.0, "FP64": 1.0, "BF16": 1.0}
ID = "torpor-conformance-7"


@rule(
    "v2-infer",
    Level.MUST,
    says="POST v2/models/NAME/infer answers an object with `model_name` and `outputs`: tensors with `name`, `shape`, "
    "`datatype` and `data`, as many values as the shape has places.",
    source=Source.OPEN_INFERENCE,
    mend="Answer an inference with these members.",
    uses=V2,
    needs=("v2-model-metadata",),
)
def a_model_infers(container: CheckedContainer) -> None:
    answer = inferred(container, request_of(container))
    text(object_of(answer), "model_name", answer)
    expect(bool(outputs_of(answer)), "`outputs` is empty", answer)


@rule(
    "v2-id",
    Level.MUST,
    says="`id`: if it is given in the request, the response must have this identifier.",
    source=Source.OPEN_INFERENCE,
    mend="Answer an inference that has an `id` with the same `id`.",
    uses=V2,
    needs=("v2-infer",),
)
def an_id_comes_back(container: CheckedContainer) -> None:
    answer = inferred(container, {**request_of(container), "id": ID})
    expect(object_of(answer).get("id") == ID, "the `id` of the request did not come back", answer)


@rule(
    "v2-data-flat-or-nested",
    Level.MUST,
    says="Tensor data are given in row-major order, in a nested array or flat: both stand for the same tensor.",
    source=Source.OPEN_INFERENCE,
    mend="Read `data` by `shape` alone, whether it is nested or flat.",
    uses=V2,
    needs=("v2-infer",),
)
def flat_and_nested_data_are_one_tensor(container: CheckedContainer) -> None:
    request = request_of(container)
    if not all("data" in one for one in request["inputs"]):
        skip("the inputs of --body have no data in JSON")
    flat = [{**one, "data": flattened(one["data"])} for one in request["inputs"]]
    deep = [{**one, "data": nested(one["data"], one["shape"])} for one in flat]
    found = [outputs_of(inferred(container, {**request, "inputs": inputs})) for inputs in (flat, deep)]
    plain = [[(one["name"], flattened(one["data"])) for one in outputs] for outputs in found]
    expect(plain[0] == plain[1], "the same tensor, flat and nested, had different answers")


@rule(
    "v2-requested-outputs",
    Level.MUST,
    says="`outputs`: the tensors that are requested; all outputs of the model are returned where it is not given.",
    source=Source.OPEN_INFERENCE,
    mend="Return the outputs that a request names, and no other.",
    uses=V2,
    needs=("v2-infer",),
)
def outputs_that_are_named_come_alone(container: CheckedContainer) -> None:
    request = request_of(container)
    (first, *_) = outputs_of(inferred(container, request))
    answer = inferred(container, {**request, "outputs": [{"name": first["name"]}]})
    names = [one["name"] for one in outputs_of(answer)]
    expect(names == [first["name"]], f"of the one output that was named, {names} came", answer)


@rule(
    "v2-bad-json",
    Level.MUST,
    says="A failed request must be indicated by an HTTP error status, typically 400, with the text `error`.",
    source=Source.OPEN_INFERENCE,
    mend='Answer a body that is no inference with 400 and {"error": "…"}.',
    uses=V2,
    needs=("v2-infer",),
)
def bodies_that_are_no_inference_are_refused(container: CheckedContainer) -> None:
    path = f"/v2/models/{model_of(container)}/infer"
    for body in (b'{"inputs": [', b"[]", b"{}"):
        refusal(asked(container, "POST", path, body), f"the body {body.decode()}")


@rule(
    "v2-bad-tensor",
    Level.MUST,
    says="`data` has as many values as `shape` has places, of the type that `datatype` names.",
    source=Source.OPEN_INFERENCE,
    mend="Check shape, datatype and data of each input, and answer 400 where they do not fit together.",
    uses=V2,
    needs=("v2-infer", "v2-data-flat-or-nested"),
)
def tensors_that_do_not_fit_together_are_refused(container: CheckedContainer) -> None:
    request = request_of(container)
    first, *others = request["inputs"]
    more = {**first, "data": [*flattened(first["data"]), *flattened(first["data"])[:1]]}
    unknown = {**first, "datatype": "FP7"}
    for what, tensor in (("a tensor with a value too many", more), ("a datatype that is none", unknown)):
        refusal(inferred(container, {**request, "inputs": [tensor, *others]}), what)


def request_of(container: CheckedContainer) -> Json:
    """The request of `--body`, or one of ones for each input that the model tells. Raises RuleSkipped where the model
    refuses it."""
    request = given_request(container)
    made = request is None
    if request is None:
        inputs = object_of(metadata_answer(container)).get("inputs") or skip(REFUSED.format(body="to tell its inputs"))
        request = {"inputs": [_sample(one) for one in inputs]}
    answer = inferred(container, request)
    if not answer.is_success:
        skip(REFUSED.format(body="ones in each input" if made else "the body of --body") + f" ({answer.shown})")
    return request


def inferred(container: CheckedContainer, request: Json) -> ContainerAnswer:
    return asked(container, "POST", f"/v2/models/{model_of(container)}/infer", request)


def outputs_of(answer: ContainerAnswer) -> list[Json]:
    """The tensors of an answer, with their data in JSON. Raises RuleBroken."""
    found = listed(object_of(answer), "outputs", answer)
    for tensor in found:
        check_described(tensor, answer)
        values = flattened(listed(tensor, "data", answer))
        places = prod(tensor["shape"])
        expect(
            len(values) == places,
            f"output {tensor['name']} of {places} places ({tensor['shape']}) has {len(values)} values",
            answer,
        )
    return found


def described_by(container: CheckedContainer) -> Any:
    """What the server tells of itself. Raises RuleBroken."""
    return json_of(asked(container, "GET", "/v2"))


def _sample(tensor: Json) -> Json:
    """Ones, with one place in each dimension of any size."""
    shape = [max(1, size) for size in tensor["shape"]]
    values = [SAMPLES.get(tensor["datatype"], 1)] * prod(shape)
    return {"name": tensor["name"], "shape": shape, "datatype": tensor["datatype"], "data": values}
