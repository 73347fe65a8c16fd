"""How long the pages of an endpoint hold the event loop up, with 250 endpoints and 10,000 models in one instance."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.endpoint.helpers.many_endpoints import ENDPOINTS, FULL, MODELS, ManyEndpoints, done, full_instance
from tests.helpers.thorough_values import one_in
from torpor_endpoint.core.pages import Json, PageName
from torpor_endpoint.pages.app import PAGES


@pytest.fixture(scope="module")
def instance() -> Iterator[tuple[str, int]]:
    with full_instance() as address:
        yield address


TARGETS = {
    PageName.METRICS: "",
    PageName.ENDPOINTS: "",
    PageName.DECISIONS: f"?endpoint={FULL}&model=m1.tar.gz",
    PageName.STORY: f"?endpoint={FULL}&model=m1.tar.gz",
    PageName.COLD_STARTS: "",
    PageName.TRANSFORM_JOBS: "",
    PageName.COSTS: "",
}
ELSEWHERE = {
    "": "a list of pages",
    PageName.ORIGIN: "one model's object in S3",
    PageName.LOGS: "files, read on a thread",
    PageName.VERSIONS: "its own list of versions",
    PageName.CHOICES: "rows of a database, as those of cold starts",
    PageName.LEDGER: "a file, which is copied on a thread",
    PageName.ASYNC: "rows of a database, as those of cold starts",
    PageName.CLOCK: "one number",
    PageName.FAULTS: "what a test has begun",
    PageName.DENIALS: "a bounded list",
}
"""Pages whose size does not follow from endpoints and models in memory, and what they are of."""


@pytest.mark.parametrize("page", one_in(2, TARGETS))
def test_a_page_holds_the_loop_up_for_a_moment_at_most(
    page: PageName, tmp_path: Path, instance: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    done(lambda many: many.page(page + TARGETS[page]), tmp_path, instance, monkeypatch)


def test_each_page_is_measured_or_said_to_be_small() -> None:
    assert {page.name for page in PAGES if page.method == "GET"} == {*TARGETS, *ELSEWHERE}


def test_a_look_of_the_dashboard_and_the_collectors_reading_do_not_hold_it_up(
    tmp_path: Path, instance: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def readings(many: ManyEndpoints) -> int:
        await many.collector.refresh()
        (before,) = (models.report for models in many.readings.latest["i-1"].models.values())
        await many.collector.refresh()
        (models,) = many.readings.latest["i-1"].models.values()
        assert models.report == before + 1
        return len(models)

    assert done(readings, tmp_path, instance, monkeypatch) == MODELS


def test_pages_of_endpoints_follow_one_another_and_are_bounded(tmp_path: Path, instance: tuple[str, int]) -> None:
    async def story() -> None:
        many, after, seen, pages = ManyEndpoints(tmp_path / "many", instance), "", list[Json](), list[int]()
        while not pages or after:
            page = json.loads(await many.page(f"{PageName.ENDPOINTS}?models=1000000&after={after}"))
            pages.append(len(page["endpoints"]))
            seen += page["endpoints"]
            after = page.get("next", "")
        assert [one["name"] for one in seen] == [f"e-{number:03}" for number in range(ENDPOINTS)]
        assert pages == [100, 1, 100, 49]  # that of the models ends with them
        (container,) = (
            one for each in seen for of in each["variants"] for i in of["instances"] for one in i["containers"]
        )
        assert (len(container["models"]), container["model_count"]) == (MODELS, MODELS)
        few = json.loads(await many.page(f"{PageName.ENDPOINTS}?limit=2&after=e-247&models=0"))
        assert ([one["name"] for one in few["endpoints"]], "next" in few) == (["e-248", "e-249"], False)
        many.close()

    asyncio.run(story())
