"""Multi-model containers: LoadModel, and GetModel of what is loaded."""

import json
from concurrent.futures import ThreadPoolExecutor

from torpor.conformance.container import JSON_BOTH, CheckedContainer
from torpor.conformance.judging import expect, expect_status, expect_success, json_of, skip
from torpor.conformance.rule import MULTI, Level, Source, rule
from torpor.conformance.sample_inputs import ModelArtifact
from torpor_container import wire

ODD_NAMES = ("odd name+ü%2Fa", "company_a/model.tar.gz/invoke")
"""A space, a plus, a letter beyond ASCII, a percent sign, and slashes: each has to be encoded in a path."""


@rule(
    "load-model",
    Level.MUST,
    says="After a model is loaded, the container should be ready to serve inference requests using this model_name.",
    source=Source.MULTI_MODEL,
    mend='Answer POST /models with {"model_name": …, "url": …} with 200 once the model of that folder is in memory.',
    uses=MULTI,
)
def load_answers_200(container: CheckedContainer) -> None:
    name = container.name("load")
    answer = container.load(name)
    container.forget(name)
    expect_success(answer)


@rule(
    "load-twice-409",
    Level.MUST,
    says="If model_name is already loaded, this API should return 409.",
    source=Source.MULTI_MODEL,
    mend="Answer LoadModel with 409 if a model of this name is loaded, and leave that model as it is.",
    uses=MULTI,
    needs=("load-model",),
)
def load_of_a_loaded_model_is_409(container: CheckedContainer) -> None:
    with container.loaded("twice") as name:
        expect_status(container.load(name), 409)


@rule(
    "get-model",
    Level.MUST,
    says="This is a simple read API on the model_name entity: modelName and modelUrl.",
    source=Source.MULTI_MODEL,
    mend='Answer GET /models/{model_name} with {"modelName": …, "modelUrl": …}, as they were given to LoadModel.',
    uses=MULTI,
    needs=("load-model",),
)
def get_describes_a_loaded_model(container: CheckedContainer) -> None:
    with container.loaded("get") as name:
        answer = container.described(name)
        expect_success(answer)
        found = json_of(answer)
        described = found[0] if isinstance(found, list) and found else found  # Multi Model Server answers a list
        wanted = {"modelName": name, "modelUrl": str(container.artifact.folder)}
        has = isinstance(described, dict) and wanted.items() <= described.items()
        expect(has, f"GetModel does not have {json.dumps(wanted)}", answer)


@rule(
    "get-unknown-404",
    Level.MUST,
    says="If model_name is not loaded, this API should return 404.",
    source=Source.MULTI_MODEL,
    mend="Answer GET /models/{model_name} with 404 if no model of this name is loaded.",
    uses=MULTI,
)
def get_of_an_unknown_model_is_404(container: CheckedContainer) -> None:
    expect_status(container.described(container.name("never loaded")), 404)


@rule(
    "load-missing-folder",
    Level.MUST,
    says="Instructs the container to load a particular model present in the url field of the body.",
    source=Source.MULTI_MODEL,
    mend="Answer LoadModel with an error (4xx or 5xx) if the folder of `url` does not exist.",
    uses=MULTI,
    needs=("load-model",),
)
def load_of_a_missing_folder_fails(container: CheckedContainer) -> None:
    name = container.name("missing")
    answer = container.load(name, missing(container))
    container.forget(name)
    expect(answer.status >= 400, f"LoadModel of a folder that does not exist answered {answer.status}", answer)


@rule(
    "failed-load-leaves-nothing",
    Level.MUST,
    says="Returns the list of models loaded into the memory of the customer container.",
    source=Source.MULTI_MODEL,
    mend="Forget a model's name when its load fails: the platform loads it again under the same name.",
    uses=MULTI,
    needs=("load-missing-folder", "get-unknown-404"),
)
def a_failed_load_leaves_nothing(container: CheckedContainer) -> None:
    name = container.name("failed")
    container.load(name, missing(container))
    described, again = container.described(name), container.load(name)
    container.forget(name)
    expect(described.status == 404, f"after a failed load, {described.request} answered {described.status}", described)
    expect_success(again, " under the name of a load that failed")


@rule(
    "load-bad-request-4xx",
    Level.SHOULD,
    says="LoadModel's body has model_name and url; a request that lacks one is the caller's fault, a 4xx.",
    source=Source.HTTP,
    mend="Check LoadModel's body, and answer 400 where a member is missing or the body is not JSON.",
    uses=MULTI,
    needs=("load-model",),
)
def a_load_request_without_url_is_4xx(container: CheckedContainer) -> None:
    for body in (json.dumps({"model_name": container.name("no url")}).encode(), b"{"):
        answer = container.client.send("POST", wire.MODELS, body, JSON_BOTH, within_s=container.limits.load_s)
        expect(400 <= answer.status < 500, f"LoadModel with the body {body[:40]!r} answered {answer.status}", answer)


@rule(
    "load-507",
    Level.MUST,
    says="Any time a model cannot be loaded due to lack of memory or to any other resource, this API should return a "
    "507 HTTP status code.",
    source=Source.MULTI_MODEL,
    mend="Answer LoadModel with 507 when memory does not suffice: only then does the platform unload other models.",
    uses=MULTI,
    needs=("load-model",),
)
def load_of_a_too_large_model_is_507(container: CheckedContainer) -> None:
    name = container.name("large")
    answer = container.load(name, too_large(container))
    container.forget(name)
    expect_status(answer, 507)


@rule(
    "load-507-again",
    Level.MUST,
    says="SageMaker then initiates unloading unused models to reclaim, and loads the model again under its name.",
    source=Source.MULTI_MODEL,
    mend="Forget the name of a model that did not fit: a second LoadModel must answer 200 or 507, not 409.",
    uses=MULTI,
    needs=("load-507",),
)
def a_model_that_did_not_fit_leaves_nothing(container: CheckedContainer) -> None:
    name = container.name("large again")
    answers = [container.load(name, too_large(container)) for _ in range(2)]
    container.forget(name)
    expect(answers[1].status != 409, "LoadModel after a 507 answered 409: the failed model is still there", answers[1])


@rule(
    "odd-model-names",
    Level.MAY,
    says="The model_name is an opaque identifier and is not necessarily the value of the TargetModel parameter.",
    source=Source.MULTI_MODEL,
    mend="Decode percent-encoding in the paths of /models/{model_name}, or refuse such names in LoadModel with 400.",
    uses=MULTI,
    needs=("load-model", "get-model"),
)
def a_name_with_odd_letters_leads_to_its_model(container: CheckedContainer) -> None:
    for odd in ODD_NAMES:
        name = odd + container.name("odd")
        loaded = container.load(name)
        if 400 <= loaded.status < 500:
            continue  # it is refused, and not misunderstood
        described = container.described(name)
        container.forget(name)
        expect_success(loaded)
        expect(
            described.is_success, f"a loaded model is not found by its name {name!r}, encoded in the path", described
        )


@rule(
    "ping-while-loading",
    Level.MUST,
    says="The request timeout on /ping attempts is 2 seconds.",
    source=Source.HOSTING,
    mend="Load models beside the thread or process that answers /ping.",
    uses=MULTI,
    needs=("ping-in-time", "load-model"),
)
def ping_answers_while_a_model_loads(container: CheckedContainer) -> None:
    name = container.name("pinged")
    with ThreadPoolExecutor(1) as pool:
        loading = pool.submit(container.load, name)
        try:
            while not loading.done():
                expect_status(container.ping(), 200)
        finally:
            loading.exception()
            container.forget(name)


@rule(
    "load-at-once",
    Level.SHOULD,
    says="With ModelCacheSetting Disabled, models are loaded at the same time, as many as the instance has processors.",
    source=Source.MULTI_MODEL_INVOKE,
    mend="Allow several LoadModel calls at the same time, or let one wait for the other.",
    uses=MULTI,
    needs=("load-model",),
)
def two_models_load_at_once(container: CheckedContainer) -> None:
    names = [container.name("one"), container.name("other")]
    try:
        for answer in container.at_once([lambda name=name: container.load(name) for name in names]):  # type: ignore[misc]
            expect_success(answer, ", while another model was loading,")
    finally:
        for name in names:
            container.forget(name)


def missing(container: CheckedContainer) -> ModelArtifact:
    return ModelArtifact("missing.tar.gz", container.artifact.folder.with_name("there-is-no-such-folder"))


def too_large(container: CheckedContainer) -> ModelArtifact:
    return container.material.too_large or skip("give a model that does not fit with --too-large NAME=PATH")
