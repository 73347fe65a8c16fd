"""TensorFlow Serving's REST API: what a server tells of a model."""

from torpor.conformance.container import CheckedContainer, UseCase
from torpor.conformance.container_client import ContainerAnswer
from torpor.conformance.judging import RuleBroken, expect
from torpor.conformance.protocols.served_model import UNKNOWN, Json, asked, listed, model_of, object_of, refusal, text
from torpor.conformance.rule import Level, Source, rule

TFS = frozenset({UseCase.TFS})
STATES = frozenset({"UNKNOWN", "START", "LOADING", "AVAILABLE", "UNLOADING", "END"})


@rule(
    "tfs-status",
    Level.MUST,
    says="GET /v1/models/NAME answers model_version_status: an object for each version with `version`, a text, `state` "
    "and `status`, which has error_code and error_message.",
    source=Source.TFS_REST,
    mend="Answer GET /v1/models/NAME in this form.",
    uses=TFS,
)
def a_model_has_a_status(container: CheckedContainer) -> None:
    answer = asked(container, "GET", f"/v1/models/{model_of(container)}")
    rows = listed(object_of(answer), "model_version_status", answer)
    expect(bool(rows), "model_version_status is empty", answer)
    for row in rows:
        text(row, "version", answer)
        expect(row.get("state") in STATES, f"{row.get('state')} is no state of a version", answer)
        status = row.get("status")
        told = isinstance(status, dict) and "error_code" in status and "error_message" in status
        expect(told, "a version has no status with error_code and error_message", answer)


@rule(
    "tfs-metadata",
    Level.MUST,
    says="GET /v1/models/NAME/metadata answers model_spec and metadata, whose signature_def has the inputs and outputs "
    "of each signature.",
    source=Source.TFS_REST,
    mend="Answer GET /v1/models/NAME/metadata in this form.",
    uses=TFS,
    needs=("tfs-status",),
)
def a_model_has_metadata(container: CheckedContainer) -> None:
    answer = asked(container, "GET", f"/v1/models/{model_of(container)}/metadata")
    text(object_of(answer).get("model_spec") or {}, "name", answer)
    signature_of(answer)


@rule(
    "tfs-version-path",
    Level.MUST,
    says="The paths with /versions/VERSION mean that version of the model.",
    source=Source.TFS_REST,
    mend="Answer the status of /versions/VERSION for each version that the model's status lists as AVAILABLE.",
    uses=TFS,
    needs=("tfs-status",),
)
def an_available_version_has_a_path(container: CheckedContainer) -> None:
    path = f"/v1/models/{model_of(container)}"
    answer = asked(container, "GET", path)
    for row in listed(object_of(answer), "model_version_status", answer):
        if row["state"] == "AVAILABLE":
            alone = asked(container, "GET", f"{path}/versions/{row['version']}")
            found = [one.get("version") for one in listed(object_of(alone), "model_version_status", alone)]
            expect(found == [row["version"]], f"of version {row['version']}, {found} came", alone)


@rule(
    "tfs-unknown-model",
    Level.MUST,
    says="In case of an error, all APIs answer with a JSON object that has the text `error`; of a model that is not "
    "there, with 404.",
    source=Source.TFS_REST,
    mend='Answer the paths of a model that is not there with 404 and {"error": "…"}.',
    uses=TFS,
    needs=("tfs-status",),
)
def a_model_that_is_not_there_is_404(container: CheckedContainer) -> None:
    answer = asked(container, "POST", f"/v1/models/{UNKNOWN}:predict", {"instances": [1.0]})
    refusal(answer, "an unknown model")
    expect(answer.status == 404, f"an unknown model got {answer.status}, not 404", answer)


def signature_of(answer: ContainerAnswer) -> Json:
    """The signature `serving_default`, or the first with inputs. Raises RuleBroken."""
    try:
        found = object_of(answer)["metadata"]["signature_def"]["signature_def"]
        named = [found["serving_default"]] if "serving_default" in found else [*found.values()]
        signature: Json = next(one for one in named if one["inputs"])
        for tensor in signature["inputs"].values():
            _ = tensor["dtype"], tensor["tensor_shape"]
    except (KeyError, TypeError, AttributeError, StopIteration):
        raise RuleBroken(
            "the metadata have no signature_def with inputs of dtype and tensor_shape", answer.shown
        ) from None
    return signature
