"""Multi-model containers: ListModels, which SageMaker also calls as a health check."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from torpor.conformance.container import CheckedContainer
from torpor.conformance.container_client import ContainerAnswer
from torpor.conformance.judging import RuleBroken, expect, expect_success, json_of
from torpor.conformance.rule import MULTI, Level, Source, rule
from torpor_container import wire

PAGES_MAX = 1000
"""Pages after which a list that does not end is given up."""


@rule(
    "list-models",
    Level.MUST,
    says="The health check calls GET /models right after /ping; a container that answers 404 did not pass it.",
    source=Source.PING_LISTS,
    mend="Answer GET /models with 2xx from the start, also while no model is loaded.",
    uses=MULTI,
)
def list_answers_2xx(container: CheckedContainer) -> None:
    expect_success(container.get(wire.MODELS))


@rule(
    "list-models-members",
    Level.MUST,
    says='Response = {"models": [{"modelName": "{model_name}", "modelUrl": "/opt/ml/models/{model_name}/model"}]}',
    source=Source.MULTI_MODEL,
    mend='Answer GET /models with {"models": [{"modelName": …, "modelUrl": …}]}: the spelling is camel case.',
    uses=MULTI,
    needs=("list-models", "load-model"),
)
def the_list_has_the_contracts_members(container: CheckedContainer) -> None:
    with container.loaded("listed"):
        answer = container.get(wire.MODELS)
        models = models_of(answer)
        complete = [{"modelName", "modelUrl"} <= model.keys() for model in models if model]
        expect(bool(complete) and all(complete), "an item of models lacks modelName or modelUrl", answer)


@rule(
    "list-models-pages",
    Level.MUST,
    says="If a nextPageToken is not returned, it means that there are no more models to return.",
    source=Source.MULTI_MODEL,
    mend="Return each loaded model on exactly one page, and take nextPageToken's value as next_page_token.",
    uses=MULTI,
    needs=("list-models-members",),
)
def the_pages_have_each_loaded_model_once(container: CheckedContainer) -> None:
    names = [container.name(f"page {number}") for number in range(container.material.listed_models)]
    try:
        for name in names:
            expect_success(container.load(name))
        listed = [model.get("modelName") for answer in pages(container) for model in models_of(answer)]
        counts = {name: listed.count(name) for name in names}
        wrong = sorted(set(counts.values()) - {1})
        expect(not wrong, f"of {len(names)} loaded models, some are listed {' or '.join(map(str, wrong))} times")
    finally:
        for name in names:
            container.forget(name)


def pages(container: CheckedContainer) -> Iterator[ContainerAnswer]:
    """Each page of the list. Raises RuleBroken if they do not end."""
    path = wire.MODELS
    for _ in range(PAGES_MAX):
        answer = container.get(path)
        expect_success(answer)
        yield answer
        token = json_of(answer).get("nextPageToken")
        if not token:
            return
        path = f"{wire.MODELS}?{urlencode({'next_page_token': token})}"
    raise RuleBroken(f"the list has no end: {PAGES_MAX} pages, and each has a nextPageToken")


def models_of(answer: ContainerAnswer) -> list[dict[str, Any]]:
    """The member `models` of one page. Raises RuleBroken."""
    found = json_of(answer)
    models = found.get("models") if isinstance(found, dict) else None
    if not isinstance(models, list) or not all(isinstance(model, dict) for model in models):
        raise RuleBroken("the answer has no member `models` that is a list of objects", answer.shown)
    return models
