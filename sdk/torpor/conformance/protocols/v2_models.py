"""The Open Inference Protocol over REST: health, and what server and model tell of themselves."""

from typing import Any

from torpor.conformance.container import CheckedContainer, UseCase
from torpor.conformance.container_client import ContainerAnswer
from torpor.conformance.judging import expect, expect_success
from torpor.conformance.protocols.served_model import UNKNOWN, asked, listed, model_of, object_of, refusal, text
from torpor.conformance.rule import Level, Source, rule

V2 = frozenset({UseCase.V2})
DATATYPES = frozenset(
    {
        "BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FP16", "FP32", "FP64",
        "BYTES", "BF16",
    }
)  # fmt: skip
"""The protocol's, and Triton's BF16."""


@rule(
    "v2-live",
    Level.MUST,
    says="The server live API: GET v2/health/live; it indicates by its status whether the inference server is able to "
    "receive requests.",
    source=Source.OPEN_INFERENCE,
    mend="Answer GET /v2/health/live with 200.",
    uses=V2,
)
def the_server_is_live(container: CheckedContainer) -> None:
    expect_success(asked(container, "GET", "/v2/health/live"))


@rule(
    "v2-ready",
    Level.MUST,
    says="The server ready API: GET v2/health/ready.",
    source=Source.OPEN_INFERENCE,
    mend="Answer GET /v2/health/ready with 200 once models can be asked.",
    uses=V2,
    needs=("v2-live",),
)
def the_server_is_ready(container: CheckedContainer) -> None:
    expect_success(asked(container, "GET", "/v2/health/ready"))


@rule(
    "v2-server-metadata",
    Level.MUST,
    says="GET v2 answers an object with the texts `name` and `version`, and `extensions`, a list of texts.",
    source=Source.OPEN_INFERENCE,
    mend="Answer GET /v2 with name, version and extensions.",
    uses=V2,
    needs=("v2-live",),
)
def the_server_says_what_it_is(container: CheckedContainer) -> None:
    answer = asked(container, "GET", "/v2")
    found = object_of(answer)
    for member in ("name", "version"):
        text(found, member, answer)
    texts = all(isinstance(one, str) for one in listed(found, "extensions", answer))
    expect(texts, "`extensions` has something else than texts", answer)


@rule(
    "v2-model-metadata",
    Level.MUST,
    says="GET v2/models/NAME answers an object with `name`, `platform`, `inputs` and `outputs`, whose tensors have "
    "`name`, `datatype` and `shape`; -1 stands for a dimension of any size.",
    source=Source.OPEN_INFERENCE,
    mend="Answer the metadata of a model with all of these members.",
    uses=V2,
    needs=("v2-live",),
)
def a_model_says_what_it_takes(container: CheckedContainer) -> None:
    answer = metadata_answer(container)
    found = object_of(answer)
    for member in ("name", "platform"):
        text(found, member, answer)
    for member in ("inputs", "outputs"):
        for tensor in listed(found, member, answer):
            check_described(tensor, answer)


@rule(
    "v2-model-ready",
    Level.MUST,
    says="The model ready API: GET v2/models/NAME/ready; 200 where the model is ready.",
    source=Source.OPEN_INFERENCE,
    mend="Answer GET /v2/models/NAME/ready with 200 for a model that can be asked.",
    uses=V2,
    needs=("v2-model-metadata",),
)
def a_model_is_ready(container: CheckedContainer) -> None:
    expect_success(asked(container, "GET", f"/v2/models/{model_of(container)}/ready"))


@rule(
    "v2-versions",
    Level.MUST,
    says="The paths with /versions/VERSION mean that version of the model; `versions` of its metadata lists those that "
    "may be asked for.",
    source=Source.OPEN_INFERENCE,
    mend="Answer the paths with /versions/VERSION for each version that the metadata list.",
    uses=V2,
    needs=("v2-model-metadata",),
)
def listed_versions_are_there(container: CheckedContainer) -> None:
    answer = metadata_answer(container)
    for version in object_of(answer).get("versions") or ():
        expect(isinstance(version, str), "`versions` has something else than texts", answer)
        expect_success(asked(container, "GET", f"/v2/models/{model_of(container)}/versions/{version}"))


@rule(
    "v2-unknown-model",
    Level.MUST,
    says="A failed request must be indicated by an HTTP error status, typically 400, and its body must be an object "
    "with the text `error`.",
    source=Source.OPEN_INFERENCE,
    mend='Answer the paths of a model that is not there with 404 and {"error": "…"}.',
    uses=V2,
    needs=("v2-live",),
)
def a_model_that_is_not_there_is_an_error(container: CheckedContainer) -> None:
    refusal(asked(container, "GET", f"/v2/models/{UNKNOWN}"), "the metadata of an unknown model")
    refusal(asked(container, "POST", f"/v2/models/{UNKNOWN}/infer", {"inputs": []}), "an unknown model")


def metadata_answer(container: CheckedContainer) -> ContainerAnswer:
    return asked(container, "GET", f"/v2/models/{model_of(container)}")


def check_described(tensor: Any, answer: ContainerAnswer) -> None:
    """Raises RuleBroken for what is no tensor of a model's metadata."""
    expect(isinstance(tensor, dict), "a tensor is no object", answer)
    name = text(tensor, "name", answer)
    datatype = text(tensor, "datatype", answer)
    expect(datatype in DATATYPES, f"tensor {name}: {datatype} is no datatype of the protocol", answer)
    sizes = listed(tensor, "shape", answer)
    whole = all(isinstance(size, int) and not isinstance(size, bool) and size >= -1 for size in sizes)
    expect(whole, f"tensor {name}: its shape has something else than whole numbers of -1 or more", answer)
