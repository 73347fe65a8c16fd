"""The dashboard in a real browser, beside an endpoint with models under memory pressure and one that sleeps."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING
from urllib.request import urlopen

import pytest

from tests.endpoint.helpers.constant_models import MIB, constant, heavy_constant
from tests.endpoint.helpers.dashboard_browser import DashboardVisit, dashboard_visit
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.helpers.browser import needs_browser
from tests.helpers.waiting import soon
from torpor.calling.target_model import with_target_model

if TYPE_CHECKING:
    from playwright.sync_api import FilePayload, Locator

pytestmark = needs_browser

NAMED = re.compile(r"\S")
PRESSED, ASLEEP = "pressed", "asleep"
MODELS = [f"city-{number}.tar.gz" for number in range(6)]


@dataclass(frozen=True)
class Scene:
    """An endpoint process, and a tab on its dashboard."""

    live: LiveEndpoint
    visit: DashboardVisit


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with LiveEndpoint(tmp_path_factory.mktemp("live"), frameworks=True) as live:
        folder = live.folder("models")
        for number, name in enumerate(MODELS):
            (folder / name).write_bytes(heavy_constant(number, 8 * MIB))
        live.deploy(PRESSED, Variant(many("models", {"TORPOR_MEMORY_MIB": "56"})))
        serverless = {"ServerlessConfig": {"MemorySizeInMB": 1024, "MaxConcurrency": 5}}
        live.deploy(ASLEEP, Variant(many("models", {"TORPOR_IDLE_SECONDS": "1"}), members=serverless))
        for name in MODELS:
            live.invoke(PRESSED, b"1", TargetModel=name)
        tensor = b'{"inputs": [{"name": "x", "shape": [1, 1], "datatype": "FP32", "data": [1]}]}'
        with urlopen(f"{live.url}/v2/endpoints/{PRESSED}/models/{MODELS[-1]}/infer", tensor, timeout=60) as answer:
            answer.read()
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


def test_a_rollout_has_both_fleets_with_their_shares(scene: Scene) -> None:
    scene.live.deploy("moving", Variant(many("models")))
    scene.live.sagemaker.create_model(ModelName="moved", PrimaryContainer=many("models", {"TORPOR_POLICY": "GDSF"}))
    scene.live.sagemaker.create_endpoint_config(
        EndpointConfigName="moved", ProductionVariants=[Variant(many("models")).production("moved")]
    )
    size = {"Type": "CAPACITY_PERCENT", "Value": 10}
    routing = {"Type": "CANARY", "CanarySize": size, "WaitIntervalInSeconds": 3600}
    canary = {"BlueGreenUpdatePolicy": {"TrafficRoutingConfiguration": routing}}
    scene.live.sagemaker.update_endpoint(EndpointName="moving", EndpointConfigName="moved", DeploymentConfig=canary)
    scene.visit.show("moving", "memory")
    page = scene.visit.page
    page.get_by_text("Rollout to moved, step 1 of 2. Baking for 3600 seconds").wait_for()
    page.get_by_text("old fleet: 90 % of the traffic").wait_for()
    page.get_by_text("new fleet: 10 % of the traffic").wait_for()


def test_a_component_is_shown_with_its_copies_and_invoked_by_its_name(scene: Scene) -> None:
    sagemaker = scene.live.sagemaker
    variant = {"VariantName": "AllTraffic", "InstanceType": "ml.m5.large", "InitialInstanceCount": 1}
    role = "arn:aws:iam::123456789012:role/service-role/role"
    sagemaker.create_endpoint_config(EndpointConfigName="shelf", ExecutionRoleArn=role, ProductionVariants=[variant])
    sagemaker.create_endpoint(EndpointName="shelf", EndpointConfigName="shelf")
    scene.live.settled("shelf")
    sagemaker.create_inference_component(
        InferenceComponentName="third",
        EndpointName="shelf",
        Specification={
            "Container": {"Image": "torpor", "ArtifactUrl": f"s3://models/{MODELS[3]}"},
            "ComputeResourceRequirements": {"MinMemoryRequiredInMb": 512},
        },
        RuntimeConfig={"CopyCount": 1},
    )
    scene.visit.show("shelf", "memory")
    page = scene.visit.page
    page.get_by_text("component, InService").wait_for()
    page.get_by_text("512 MiB of AllTraffic · 1 of 1 copy ready").wait_for()
    page.get_by_text("on AllTraffic/0, ml.m5.large").wait_for()
    scene.visit.show("shelf", "invoke")
    page.get_by_label("Inference component").select_option("third")
    page.get_by_label("Body", exact=True).fill("1")
    page.get_by_role("button", name="Invoke", exact=True).click()
    page.get_by_text("HTTP 200").wait_for()
    assert page.get_by_label("Body of the answer").inner_text() == "[3]"


def test_a_request_that_waits_is_cancelled(scene: Scene) -> None:
    output = {"OutputConfig": {"S3OutputPath": "s3://models-out/out"}}
    scene.live.deploy("later", Variant(many("models")), AsyncInferenceConfig=output)
    nobody = {"VariantName": "AllTraffic", "DesiredInstanceCount": 0}
    scene.live.sagemaker.update_endpoint_weights_and_capacities(
        EndpointName="later", DesiredWeightsAndCapacities=[nobody]
    )
    scene.live.settled("later")
    runtime = with_target_model(scene.live.client("sagemaker-runtime"))
    runtime.invoke_endpoint_async(EndpointName="later", TargetModel=MODELS[0], Body=b"1", InferenceId="house-1")
    scene.visit.show("later", "queue")
    page = scene.visit.page
    page.get_by_text("1 wait, 0 run").wait_for()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("Cancelled").wait_for()
    page.get_by_text("0 wait, 0 run").wait_for()


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


def test_charts_and_costs_are_drawn(scene: Scene) -> None:
    scene.visit.show(PRESSED, "charts")
    page = scene.visit.page
    page.locator(".chart canvas").nth(5).wait_for()
    assert page.locator(".chart .title").all_inner_texts()[:2] == ["Requests a second", "Hit ratio"]
    page.get_by_text("serverless, an endpoint per model").wait_for()
    assert page.locator(".cost").first.inner_text().startswith("this endpoint")
    rows = page.locator("table.bill").nth(1).locator("tbody tr").all_inner_texts()
    assert [row.split("\t")[:2] for row in rows] == [
        ["sagemaker", str(len(MODELS))],
        ["open-inference", "1"],
    ]


def test_the_slowest_cold_requests_are_waterfalls_of_their_steps(scene: Scene) -> None:
    scene.visit.show(PRESSED, "cold")
    page = scene.visit.page
    page.locator("#waterfalls li .steps").first.wait_for()
    slowest, *others = page.locator("#waterfalls .steps").all()
    assert len(others) == len(MODELS) - 1
    assert "load" in (slowest.get_attribute("aria-label") or "")
    page.locator("#waterfalls button").first.click()
    page.get_by_role("dialog").get_by_text("was loaded in").first.wait_for()
    page.get_by_role("button", name="Close").click()


def test_the_form_invokes_a_model_and_shows_its_steps(scene: Scene) -> None:
    scene.visit.show(PRESSED, "invoke")
    page = scene.visit.page
    page.get_by_label("Model", exact=True).fill(MODELS[3])
    page.get_by_label("Body", exact=True).fill("1")
    page.get_by_role("button", name="Invoke").click()
    page.get_by_text("HTTP 200").wait_for()
    assert page.get_by_label("Body of the answer").inner_text() == "[3]"
    assert "Server-Timing: " in page.locator("#answer").inner_text()


def test_an_error_of_a_request_is_shown_in_its_own_words(scene: Scene) -> None:
    scene.visit.show(PRESSED, "invoke")
    page = scene.visit.page
    page.get_by_label("Model", exact=True).fill("absent.tar.gz")
    page.get_by_role("button", name="Invoke").click()
    page.get_by_text("HTTP 400").wait_for()
    assert "absent.tar.gz" in page.get_by_label("Body of the answer").inner_text()
    scene.visit.complaints.clear()  # the browser logs the status


def payload(name: str, content: bytes) -> "FilePayload":
    return {"name": name, "mimeType": "application/octet-stream", "buffer": content}


def test_a_file_is_uploaded_and_can_be_invoked_at_once(scene: Scene) -> None:
    scene.visit.show(PRESSED, "invoke")
    page = scene.visit.page
    page.locator("#upload-file").set_input_files(payload("new.tar.gz", constant(77)))
    page.get_by_role("button", name="Invoke it").click()
    page.get_by_label("Body", exact=True).fill("1")
    page.get_by_role("button", name="Invoke", exact=True).click()
    page.get_by_text("HTTP 200").wait_for()
    assert page.get_by_label("Body of the answer").inner_text() == "[77.0]"


def test_a_file_that_is_no_model_is_refused(scene: Scene) -> None:
    scene.visit.show(PRESSED, "invoke")
    page = scene.visit.page
    page.locator("#upload-file").set_input_files(payload("notes.txt", b"hello"))
    page.get_by_text("notes.txt is no artifact").wait_for()


def test_an_endpoint_without_a_simulator_says_so(scene: Scene) -> None:
    """`python -m torpor_endpoint` has none."""
    scene.visit.show(PRESSED, "what-if")
    page = scene.visit.page
    page.get_by_role("alert").get_by_text("`torpor up` brings one").wait_for()
    assert page.get_by_role("button", name="Simulate").is_disabled()


def test_tabs_are_walked_by_arrows_and_back_returns(scene: Scene) -> None:
    scene.visit.show(PRESSED, "memory")
    page = scene.visit.page
    page.get_by_role("tab", name="Memory").focus()
    page.keyboard.press("ArrowRight")
    page.get_by_role("tabpanel", name="Timeline").wait_for()
    page.keyboard.press("End")
    page.get_by_role("tabpanel", name="What if").wait_for()
    page.go_back()
    page.get_by_role("tabpanel", name="Timeline").wait_for()


def test_the_theme_is_the_system_s_until_it_is_chosen(scene: Scene) -> None:
    page = scene.visit.page
    for system in ("dark", "light"):
        scene.visit.in_theme(system)
        page.locator(f"html[data-theme={system}]").wait_for()
    page.get_by_label("Theme").select_option("dark")
    page.locator("html[data-theme=dark]").wait_for()
    page.get_by_label("Theme").select_option("auto")
    page.locator("html[data-theme=light]").wait_for()


def test_everything_that_can_be_used_has_a_name(scene: Scene) -> None:
    """By the browser's own rules for accessible names, in each panel."""
    page = scene.visit.page
    for panel in ("memory", "timeline", "charts", "cold", "invoke", "what-if"):
        scene.visit.show(PRESSED, panel)
        roles = ("button", "textbox", "combobox", "listbox", "option", "img", "tab", "tabpanel", "searchbox", "dialog")
        for role in roles:
            every = page.get_by_role(role)  # type: ignore[arg-type]  # Playwright has a literal type
            named = page.get_by_role(role, name=NAMED)  # type: ignore[arg-type]  # as above
            assert soon(partial(_as_many, every, named)), (panel, role)


def _as_many(every: "Locator", named: "Locator") -> bool:
    """The page may show one more between the two counts."""
    return every.count() == named.count()


def test_a_page_that_is_not_seen_hangs_up(scene: Scene) -> None:
    """Then nothing is asked of the instances for it."""
    page = scene.visit.page
    scene.visit.show(PRESSED, "memory")
    page.get_by_text("live", exact=True).wait_for()
    page.evaluate("Object.defineProperty(document, 'hidden', {value: true, configurable: true})")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    seen_s = page.evaluate("performance.getEntriesByName(location.origin + '/_torpor/dashboard/feed').length")
    assert seen_s >= 1  # an entry is made when the stream has ended
    page.evaluate("delete document.hidden")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.get_by_text("live", exact=True).wait_for()


def test_the_page_complains_of_nothing_and_asks_nobody_else(scene: Scene) -> None:
    """After the tests above have opened the panels."""
    assert scene.visit.complaints == []
    assert scene.visit.strangers == []
