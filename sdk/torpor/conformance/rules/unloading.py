"""Multi-model containers: UnloadModel, and what follows it."""

from concurrent.futures import ThreadPoolExecutor, wait

from torpor.conformance.container import CheckedContainer
from torpor.conformance.judging import expect, expect_status, expect_success
from torpor.conformance.rule import MULTI, Level, Source, rule

GONE = 404
IN_FLIGHT_S = 0.05
"""After so long, an invocation that has no answer has reached its model."""


@rule(
    "unload-model",
    Level.MUST,
    says="The resources provisioned to model_name should be reclaimed by the container when this API returns a "
    "response.",
    source=Source.MULTI_MODEL,
    mend="Answer DELETE /models/{model_name} with 200 once the model has left memory.",
    uses=MULTI,
    needs=("load-model",),
)
def unload_answers_2xx(container: CheckedContainer) -> None:
    with container.loaded("unload") as name:
        expect_success(container.unload(name))


@rule(
    "unloaded-is-gone",
    Level.MUST,
    says="If model_name is not loaded, this API should return 404.",
    source=Source.MULTI_MODEL,
    mend="After an unload, answer GetModel and InvokeModel of this name with 404.",
    uses=MULTI,
    needs=("unload-model", "get-unknown-404", "invoke-unloaded-404"),
)
def an_unloaded_model_is_gone(container: CheckedContainer) -> None:
    with container.loaded("gone") as name:
        container.unload(name)
        for answer in (container.described(name), container.invoke(name=name)):
            expect(answer.status == GONE, f"after the unload, {answer.request} answered {answer.status}", answer)


@rule(
    "unload-unknown-404",
    Level.MUST,
    says="If model_name is not loaded, this API should return 404.",
    source=Source.MULTI_MODEL,
    mend="Answer DELETE /models/{model_name} with 404 if no model of this name is loaded.",
    uses=MULTI,
)
def unload_of_an_unknown_model_is_404(container: CheckedContainer) -> None:
    expect_status(container.unload(container.name("never loaded")), GONE)


@rule(
    "load-after-unload",
    Level.MUST,
    says="An unloaded model stays on the instance's disk, and is loaded again under its name when a request needs it.",
    source=Source.MULTI_MODEL_INVOKE,
    mend="Forget everything of a model as it is unloaded, so that it can be loaded again.",
    uses=MULTI,
    needs=("unloaded-is-gone", "invoke"),
)
def an_unloaded_model_can_be_loaded_again(container: CheckedContainer) -> None:
    with container.loaded("again") as name:
        container.unload(name)
        expect_success(container.load(name), " after an unload")
        expect_success(container.invoke(name=name), " after an unload and a load")


@rule(
    "unload-while-busy",
    Level.MAY,
    says="SageMaker unloads unused models; of a request in flight AWS says nothing, and its caller needs an answer.",
    source=Source.TORPOR,
    mend="Let requests in flight end before a model leaves memory; refuse later ones with 404.",
    uses=MULTI,
    needs=("unload-model", "invoke", "invoke-unloaded-404"),
)
def a_request_in_flight_ends_well_when_its_model_is_unloaded(container: CheckedContainer) -> None:
    with container.loaded("busy") as name:
        with ThreadPoolExecutor(1) as pool:
            invoking = pool.submit(container.invoke, container.material.slow, name=name)
            wait([invoking], IN_FLIGHT_S)
            unloaded = container.unload(name)
            answer = invoking.result()
    well = answer.is_success or answer.status == GONE
    expect(well, f"an invocation whose model was unloaded meanwhile answered {answer.status}", answer)
    expect_success(unloaded, " while an invocation was in flight")
