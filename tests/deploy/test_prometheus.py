"""The files of deploy/ with a real Prometheus, which scrapes a live endpoint: every panel of the dashboard has data."""

import json
import math
import re
import shutil
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.endpoint.helpers.constant_models import constant
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import put
from tests.helpers.ports import free_port
from tests.helpers.waiting import until
from tests.markdown import ROOT
from torpor_account.metrics.metrics import METRICS, Shown
from torpor_account.metrics.prometheus import exposed

DEPLOY = ROOT / "deploy"
ALERTS = DEPLOY / "prometheus" / "alerts.yml"
DASHBOARD: dict[str, Any] = json.loads((DEPLOY / "grafana" / "dashboards" / "torpor.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
EXPRESSIONS = [(panel["title"], target["expr"]) for panel in PANELS for target in panel["targets"]]

needs_prometheus = pytest.mark.skipif(
    not (shutil.which("prometheus") and shutil.which("promtool")),
    reason="no Prometheus is installed: apt-get install prometheus",
)


def names_in(text: str) -> set[str]:
    return set(re.findall(r"\btorpor_[a-z0-9_]+", text))


def test_dashboard_and_alerts_name_metrics_that_the_endpoint_has() -> None:
    parts = {Shown.HISTOGRAM: ("_bucket", "_sum", "_count"), Shown.SUMMARY: ("_sum", "_count")}
    known = {exposed(metric) + part for metric in METRICS for part in parts.get(metric.shown, ("",))}
    queries = [variable.get("definition", "") for variable in DASHBOARD["templating"]["list"]]
    named = names_in(" ".join([*(expression for _, expression in EXPRESSIONS), *queries, ALERTS.read_text()]))
    assert named <= known


def test_panels_stand_on_the_grid_beside_one_another() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not taken & cells, panel["title"]
        assert max(x for x, _ in cells) < 24, panel["title"]
        taken |= cells
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)


def test_every_panel_is_of_the_chosen_endpoints_and_variants() -> None:
    for title, expression in EXPRESSIONS:
        chosen = expression.count('{endpoint_name=~"$endpoint", variant_name=~"$variant"}')
        assert chosen == len(re.findall(r"\btorpor_[a-z0-9_]+", expression)), title


@needs_prometheus
def test_the_rules_are_valid_and_fire_as_their_tests_say() -> None:
    for command in (
        ("check", "rules", "alerts.yml"),
        ("check", "config", "prometheus.yml"),
        ("test", "rules", "alerts_test.yml"),
    ):
        done = subprocess.run(["promtool", *command], cwd=ALERTS.parent, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


class ScrapingPrometheus:
    """A Prometheus with the shipped configuration, but for the endpoint's port and a shorter interval."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}/api/v1"

    def get(self, path: str, **parameters: str) -> Any:
        """The data of an answer; None while Prometheus starts."""
        with (
            suppress(OSError),
            urllib.request.urlopen(f"{self._url}/{path}?{urllib.parse.urlencode(parameters)}") as answer,
        ):
            return json.load(answer)["data"]
        return None

    def has(self, expression: str) -> bool:
        """Whether the panel's expression has numbers, for all endpoints and variants."""
        for variable, value in (("$endpoint", ".+"), ("$variant", ".+"), ("$__rate_interval", "20s")):
            expression = expression.replace(variable, value)
        found = self.get("query", query=expression)
        return found is not None and any(not math.isnan(float(one["value"][1])) for one in found["result"])


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveEndpoint]:
    """An endpoint that captures, with a shadow variant and many models."""
    folder = tmp_path_factory.mktemp("observed")
    with LiveEndpoint(folder) as live:
        model = constant(1.0)
        put(live.folder("models"), {f"many/{number}.tar": model for number in range(200)})
        options = [{"CaptureMode": mode} for mode in ("Input", "Output")]
        capture = {
            "InitialSamplingPercentage": 100,
            "DestinationS3Uri": "s3://models/captured",
            "CaptureOptions": options,
        }
        variants = (Variant(many("models/many")), Variant(many("models/many"), "New", shadow=True))
        live.deploy("shop", *variants, DataCaptureConfig=capture)
        yield live


@pytest.fixture(scope="module")
def prometheus(observed: LiveEndpoint, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScrapingPrometheus]:
    folder = tmp_path_factory.mktemp("prometheus")
    config = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    config["global"] = dict.fromkeys(config["global"], "500ms")
    config["rule_files"] = [str(ALERTS)]
    config["scrape_configs"][0]["static_configs"] = [{"targets": [observed.url.removeprefix("http://")]}]
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    port = free_port()
    command = ["prometheus", f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([*command, f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
    try:
        yield ScrapingPrometheus(port)
    finally:
        process.kill()
        process.wait()


def call(live: LiveEndpoint, operation: str, model: str) -> None:
    headers = {"content-type": "text/csv", "x-amzn-sagemaker-target-model": model}
    request = urllib.request.Request(f"{live.url}/endpoints/shop/{operation}", b"1", headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        answer.read()


@pytest.mark.thorough
@needs_prometheus
def test_every_panel_has_data_after_a_few_requests(observed: LiveEndpoint, prometheus: ScrapingPrometheus) -> None:
    models = (f"{number}.tar" for number in count())
    empty = set(EXPRESSIONS)

    def all_filled() -> bool:
        model = next(models)  # a cold start in each round
        for operation in ("invocations", "invocations-response-stream", "invocations"):
            call(observed, operation, model)
        empty.difference_update([one for one in empty if prometheus.has(one[1])])
        return not empty

    try:
        until(all_filled, within_s=60, look_s=0.2)
    except AssertionError:
        pytest.fail(f"no data: {sorted(empty)}")
    rules = prometheus.get("rules")["groups"][0]["rules"]
    assert {rule["health"] for rule in rules} <= {"ok", "unknown"}
    assert not [rule["name"] for rule in rules if rule["state"] == "firing"]


def test_grafana_s_provisioning_reads_the_shipped_dashboard() -> None:
    folder = DEPLOY / "grafana" / "provisioning"
    sources = yaml.safe_load((folder / "datasources" / "prometheus.yml").read_text())
    interval = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())["global"]["scrape_interval"]
    assert [(source["type"], source["jsonData"]["timeInterval"]) for source in sources["datasources"]] == [
        ("prometheus", interval)
    ]
    (provider,) = yaml.safe_load((folder / "dashboards" / "torpor.yml").read_text())["providers"]
    page = (ROOT / "docs/how-to/observability.md").read_text()
    assert provider["type"] == "file"
    assert f"deploy/grafana/dashboards:{Path(provider['options']['path'])}" in page
