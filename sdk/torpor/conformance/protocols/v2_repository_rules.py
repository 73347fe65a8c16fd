"""The Open Inference Protocol: the model repository and statistics, for a server that has them among its extensions."""

from torpor.conformance.container import CheckedContainer, UseCase
from torpor.conformance.container_client import ContainerAnswer
from torpor.conformance.judging import expect, expect_success, json_of, skip
from torpor.conformance.protocols.served_model import UNKNOWN, asked, listed, model_of, object_of, refusal, text
from torpor.conformance.protocols.v2_inference import described_by, inferred, request_of
from torpor.conformance.rule import Level, Source, rule

V2 = frozenset({UseCase.V2})
INDEX = "/v2/repository/index"


@rule(
    "v2-index",
    Level.MUST,
    says="POST v2/repository/index answers a list of objects with `name`, and perhaps `version`, `state` and `reason`, "
    "of all models of the repository.",
    source=Source.MODEL_REPOSITORY,
    mend="List each model of the repository, or leave the extension out.",
    uses=V2,
    needs=("v2-model-metadata",),
)
def the_index_has_the_model(container: CheckedContainer) -> None:
    _needed(container, "model_repository")
    answer = asked(container, "POST", INDEX, {})
    expect_success(answer)
    found = json_of(answer)
    expect(isinstance(found, list), "the index is no list", answer)
    names = [text(one, "name", answer) for one in found]
    name = container.material.served
    known = any(one == name or one.startswith(f"{name}.") for one in names)  # with the ending of an archive
    expect(known, f"the index does not have {name}", answer)


@rule(
    "v2-load-unload",
    Level.MUST,
    says="POST v2/repository/models/NAME/load loads a model, and unload unloads it: 200 indicates success.",
    source=Source.MODEL_REPOSITORY,
    mend="Answer load and unload of a model of the repository with 200, or leave the extension out.",
    uses=V2,
    needs=("v2-index", "v2-infer"),
)
def a_model_leaves_and_comes_back(container: CheckedContainer) -> None:
    path = f"/v2/repository/models/{model_of(container)}"
    request = request_of(container)
    for verb in ("load", "unload", "load"):
        expect_success(asked(container, "POST", f"{path}/{verb}", {}))
    expect_success(inferred(container, request), " after the model was unloaded and loaded")


@rule(
    "v2-load-unknown",
    Level.MUST,
    says="A failed load is indicated by an HTTP error status, and its body has the text `error`.",
    source=Source.MODEL_REPOSITORY,
    mend='Answer the load of a model that is not there with 4xx and {"error": "…"}.',
    uses=V2,
    needs=("v2-index",),
)
def a_model_that_is_not_there_is_not_loaded(container: CheckedContainer) -> None:
    refusal(asked(container, "POST", f"/v2/repository/models/{UNKNOWN}/load", {}), "the load of an unknown model")


@rule(
    "v2-statistics",
    Level.MUST,
    says="GET v2/models/NAME/stats answers `model_stats`, a list of objects with `name` and `inference_stats`, whose "
    "durations have `count` and `ns`.",
    source=Source.STATISTICS,
    mend="Answer the statistics of a model in this form, or leave the extension out.",
    uses=V2,
    needs=("v2-infer",),
)
def a_model_has_statistics(container: CheckedContainer) -> None:
    _needed(container, "statistics")
    answer = _statistics(container)
    rows = listed(object_of(answer), "model_stats", answer)
    expect(bool(rows), "`model_stats` is empty", answer)
    for row in rows:
        text(row, "name", answer)
        success = row.get("inference_stats", {}).get("success", {})
        counted = all(isinstance(success.get(member), int) for member in ("count", "ns"))
        expect(counted, "`inference_stats` has no count and ns of success", answer)


def _statistics(container: CheckedContainer) -> ContainerAnswer:
    return asked(container, "GET", f"/v2/models/{model_of(container)}/stats")


def _needed(container: CheckedContainer, extension: str) -> None:
    if extension not in described_by(container).get("extensions", ()):
        skip(f"the server has no extension {extension}")
