"""TensorFlow Serving's REST API: predictions, row by row and by columns, and how they are refused."""

from math import prod

from torpor.conformance.container import CheckedContainer, UseCase
from torpor.conformance.container_client import ContainerAnswer
from torpor.conformance.judging import expect, skip
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
)
from torpor.conformance.protocols.tfs_models import signature_of
from torpor.conformance.rule import Level, Source, rule

TFS = frozenset({UseCase.TFS})
ROWS = 2
SAMPLES = {"DT_BOOL": True, "DT_STRING": "a", "DT_FLOAT": 1.0, "DT_DOUBLE": 1.0, "DT_HALF": 1.0}


@rule(
    "tfs-rows",
    Level.MUST,
    says='A request in row format, {"instances": […]}, is answered with {"predictions": […]}: one for each instance.',
    source=Source.TFS_REST,
    mend="Answer each instance with one prediction, in their order.",
    uses=TFS,
    needs=("tfs-metadata",),
)
def each_row_has_a_prediction(container: CheckedContainer) -> None:
    request = request_of(container)
    answer = predicted(container, request)
    found = listed(object_of(answer), "predictions", answer)
    rows = len(request["instances"])
    expect(len(found) == rows, f"{rows} instances had {len(found)} predictions", answer)


@rule(
    "tfs-columns",
    Level.MUST,
    says='A request in columnar format, {"inputs": …}, is answered with {"outputs": …}.',
    source=Source.TFS_REST,
    mend="Take `inputs`, a tensor or an object of tensors by their names, and answer with `outputs`.",
    uses=TFS,
    needs=("tfs-rows",),
)
def columns_have_the_same_answers(container: CheckedContainer) -> None:
    request = request_of(container)
    instances = request["instances"]
    inputs = instances
    if isinstance(instances[0], dict):
        inputs = {name: [row[name] for row in instances] for name in instances[0]}
    rest = {name: value for name, value in request.items() if name != "instances"}
    answer = predicted(container, {**rest, "inputs": inputs})
    found = object_of(answer)
    expect("outputs" in found, "the answer has no `outputs`", answer)
    rows = object_of(predicted(container, request))["predictions"]
    if isinstance(found["outputs"], list) and not isinstance(rows[0], dict):
        same = flattened(found["outputs"]) == flattened(rows)
        expect(same, "the same rows as columns had different values", answer)


@rule(
    "tfs-both-forms",
    Level.MUST,
    says="A request has either `instances` or `inputs`, and not both.",
    source=Source.TFS_REST,
    mend="Refuse a request with both with 400.",
    uses=TFS,
    needs=("tfs-rows",),
)
def both_forms_at_once_are_refused(container: CheckedContainer) -> None:
    request = request_of(container)
    answer = predicted(container, {**request, "inputs": request["instances"]})
    refusal(answer, "a request with instances and inputs")


@rule(
    "tfs-bad-json",
    Level.MUST,
    says="In case of an error, all APIs answer with a JSON object that has the text `error`.",
    source=Source.TFS_REST,
    mend='Answer a body that is no request with 400 and {"error": "…"}.',
    uses=TFS,
    needs=("tfs-rows",),
)
def bodies_that_are_no_request_are_refused(container: CheckedContainer) -> None:
    path = f"/v1/models/{model_of(container)}:predict"
    for body in (b'{"instances": [', b"[]", b"{}", b'{"instances": 1}'):
        refusal(asked(container, "POST", path, body), f"the body {body.decode()}")


def request_of(container: CheckedContainer) -> Json:
    """The request of `--body`, or rows of ones by the model's signature. Raises RuleSkipped where the model refuses
    it."""
    request = given_request(container)
    made = request is None
    if request is None:
        signature = signature_of(asked(container, "GET", f"/v1/models/{model_of(container)}/metadata"))
        request = {"instances": [_row(signature["inputs"]) for _ in range(ROWS)]}
    if not isinstance(request.get("instances"), list) or not request["instances"]:
        skip("--body has no `instances`: a list of rows")
    answer = predicted(container, request)
    if not answer.is_success:
        skip(REFUSED.format(body="ones in each input" if made else "the body of --body") + f" ({answer.shown})")
    return request


def predicted(container: CheckedContainer, request: Json) -> ContainerAnswer:
    return asked(container, "POST", f"/v1/models/{model_of(container)}:predict", request)


def _row(inputs: Json) -> object:
    """One instance: a value for each input, or the value alone where there is one."""
    found = {name: _ones(tensor) for name, tensor in inputs.items()}
    return next(iter(found.values())) if len(found) == 1 else found


def _ones(tensor: Json) -> object:
    sizes = [max(1, int(one["size"])) for one in tensor["tensor_shape"].get("dim", ())][1:]
    values = [SAMPLES.get(tensor["dtype"], 1)] * prod(sizes)
    return nested(values, sizes) if sizes else values[0]
