"""The dashboard in a real browser, beside an endpoint with models under memory pressure and one that sleeps."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.endpoint.helpers.constant_models import MIB, constant
from tests.endpoint.helpers.dashboard_browser import DashboardVisit, dashboard_visit, needs_browser
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many

pytestmark = needs_browser

PRESSED, ASLEEP = "pressed", "asleep"
MODELS = [f"city-{number}.tar.gz" for number in range(6)]


@dataclass(frozen=True)
class Scene:
    """An endpoint process, and a tab on its dashboard."""

    live: LiveEndpoint
    visit: DashboardVisit


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with LiveEndpoint(tmp_path_factory.mktemp("live")) as live:
        folder = live.folder("models")
        for number, name in enumerate(MODELS):
            (folder / name).write_bytes(constant(number, 8 * MIB))
        live.deploy(PRESSED, Variant(many("models", {"TORPOR_MEMORY_MIB": "56"})))
        serverless = {"ServerlessConfig": {"MemorySizeInMB": 1024, "MaxConcurrency": 5}}
        live.deploy(ASLEEP, Variant(many("models", {"TORPOR_IDLE_SECONDS": "1"}), members=serverless))
        for name in MODELS:
            live.invoke(PRESSED, b"1", TargetModel=name)
        with dashboard_visit(live.url) as visit:
            yield Scene(live, visit)


def test_the_page_shows_instances_with_their_models(scene: Scene) -> None:
    scene.visit.show(PRESSED, "memory")
    page = scene.visit.page
    tiles = page.locator("#variants canvas")
    tiles.wait_for()
    assert "in memory" in (tiles.get_attribute("aria-label") or "")
    page.get_by_role("option", name=MODELS[-1]).wait_for()
    shown = page.get_by_role("listbox", name="Models in memory").get_by_role("option").count()
    assert 1 <= shown < len(MODELS)  # the others had to leave


def test_an_endpoint_that_sleeps_is_seen_to_sleep(scene: Scene) -> None:
    scene.visit.show(ASLEEP, "memory")
    scene.visit.page.get_by_text("Asleep: nothing runs").wait_for()
    scene.visit.page.get_by_role("option", name=f"{ASLEEP}, asleep, no instance").wait_for()


def test_the_timeline_has_each_eviction_with_its_reason(scene: Scene) -> None:
    scene.visit.show(PRESSED, "timeline")
    event = scene.visit.page.get_by_role("option", name="needs the room").first
    event.wait_for()
    assert "eviction" in (event.get_attribute("aria-label") or "")


def test_a_story_opens_by_keyboard_alone(scene: Scene) -> None:
    scene.visit.show(PRESSED, "memory")
    page = scene.visit.page
    page.get_by_role("option", name=MODELS[-1]).wait_for()
    page.locator("#models").focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("was loaded in").first.wait_for()
    page.keyboard.press("Escape")
    dialog.wait_for(state="hidden")


def test_the_page_complains_of_nothing_and_asks_nobody_else(scene: Scene) -> None:
    """After the tests above have opened the panels."""
    assert scene.visit.complaints == []
    assert scene.visit.strangers == []
