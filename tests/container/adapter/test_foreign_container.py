"""The keeper in front of a foreign container that has every bad manner known of real ones."""

import json
import os
import re
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.container.helpers.contract_platform import Answer, Platform
from tests.helpers.processes import gone
from tests.helpers.waiting import soon
from torpor_container import wire
from torpor_container.processes.process_tree import MEMORY_BOUND
from torpor_container.processes.zygote_client import ZygoteClient
from torpor_container.transport.parts import RecordReader

SERVER = Path(__file__).parents[1] / "helpers" / "foreign_container.py"
TARGET = "X-Amzn-SageMaker-Target-Model"


class AdaptedContainer:
    """A folder of artifacts, and an instance whose container is the awkward server."""

    def __init__(self, folder: Path, zygote: Path) -> None:
        self.folder = folder
        self.zygote = zygote
        self.models = folder / "artifacts"
        self.models.mkdir()
        self.ends = 0

    def put(self, name: str, file: str = "weights") -> None:
        (self.folder / file).write_text(name)
        with tarfile.open(self.models / name, "w:gz") as archive:
            archive.add(self.folder / file, file)

    @contextmanager
    def instance(
        self, *manners: str, rooms: int = 10, source: str = "", opt_ml: bool = False, **settings: str
    ) -> Iterator[Platform]:
        command = {
            "opt_ml": opt_ml,
            "command": [sys.executable, str(SERVER), "{port}", str(rooms), *manners],
            "environment": {"WORKER_PID": str(self.folder / "worker"), "MODEL_DIR": "{model_dir}"},
            "files": {"own.properties": "port={port}"},
            "ready": ["/ping", "/models"],
        }
        wiring = {"TORPOR_CONTAINER": json.dumps(command), "TORPOR_MODEL_SOURCE": source or f"file://{self.models}"}
        wiring["TORPOR_WARM_PARENT"] = str(self.zygote)
        with Platform(self.folder / "base", self.ended, **wiring, **settings) as platform:
            yield platform

    def ended(self) -> None:
        self.ends += 1


@pytest.fixture
def adapted(tmp_path: Path, zygote: ZygoteClient) -> AdaptedContainer:
    return AdaptedContainer(tmp_path, zygote.path)


def call(platform: Platform, target: str, body: str = "1,2", **headers: str) -> Answer:
    headers = {TARGET: target, "Content-Type": "text/csv", **headers}
    return platform.request("POST", "/invocations", body.encode(), headers)


def resident(platform: Platform) -> set[str]:
    return {model["modelName"] for model in platform.get("/models").json()["models"]}


def decisions(platform: Platform, *actions: str) -> list[tuple[str, str]]:
    made = platform.get("/_torpor/state").json()["decisions"]
    return [(each["action"], each["model"]) for each in made if each["action"] in actions]


def until(true: Callable[[], bool], within_s: float = 20.0) -> None:
    assert soon(true, within_s)


def test_a_model_is_pulled_loaded_and_called_as_the_contract_says(adapted: AdaptedContainer) -> None:
    adapted.put("a.tar.gz")
    with adapted.instance() as platform:
        answer = call(
            platform, "a.tar.gz", Accept="application/json", **{"X-Amzn-SageMaker-Custom-Attributes": "trace"}
        )
        told = answer.json()
        assert (answer.status, answer.headers["x-torpor-model-cache"]) == (200, "miss")
        assert (Path(told["url"]) / "weights").read_text() == "a.tar.gz"
        assert told["body"] == "1,2"
        assert call(platform, "a.tar.gz").headers["x-torpor-model-cache"] == "hit"


def test_a_lower_budget_unloads_idle_models_from_the_container(adapted: AdaptedContainer) -> None:
    adapted.put("a.tar.gz")
    with adapted.instance() as platform:
        assert call(platform, "a.tar.gz").status == 200
        assert platform.request("POST", wire.MEMORY, b'{"budget_bytes": 1000000}').status == 200
        assert resident(platform) == set()
        assert ("unloaded", "a.tar.gz") in decisions(platform, "unloaded")


def test_a_copy_whose_container_takes_more_memory_than_it_may_have_is_ended(
    adapted: AdaptedContainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    adapted.put("a.tar.gz")
    monkeypatch.setenv(MEMORY_BOUND, "1")
    with adapted.instance():
        until(lambda: adapted.ends == 1)
    monkeypatch.setenv(MEMORY_BOUND, "1000")
    with adapted.instance() as platform:
        assert call(platform, "a.tar.gz").status == 200
    assert adapted.ends == 1


def test_the_headers_of_aws_and_of_traces_reach_it_in_their_spelling_and_no_others_do(
    adapted: AdaptedContainer,
) -> None:
    adapted.put("a.tar.gz")
    forwarded = {name: f"value of {name}" for name in (*wire.FORWARDED, *wire.TRACE_CONTEXT)}
    with adapted.instance("session") as platform:
        answer = call(platform, "a.tar.gz", **forwarded, Cookie="secret", **{"X-Torpor-Fault": "no-room"})
        told = answer.json()["headers"]
        assert {name: told.pop(name) for name in forwarded} == forwarded
        assert told == {"Host": "localhost", "Content-Length": "3", "X-Amzn-SageMaker-Target-Model": "a.tar.gz"}
        assert answer.headers["x-amzn-sagemaker-new-session-id"].startswith("s1;")
        assert "x-own" not in answer.headers


def test_the_version_that_answers_is_told_to_a_caller_that_wants_it_and_asked_of_no_container(
    adapted: AdaptedContainer,
) -> None:
    wanted = {wire.ARTIFACT_VERSION: wire.ARTIFACT_VERSION_WANTED}
    told = wire.ARTIFACT_VERSION.lower()
    adapted.put("a.tar.gz")
    with adapted.instance() as platform:
        first = call(platform, "a.tar.gz", **wanted)
        assert call(platform, "a.tar.gz", **wanted).headers[told] == first.headers[told] != ""
        assert wire.ARTIFACT_VERSION not in first.json()["headers"]
        assert told not in call(platform, "a.tar.gz").headers
        adapted.put("a.tar.gz")
        platform.request("POST", wire.RELOAD_MODEL, b'{"model": "a.tar.gz"}')
        assert call(platform, "a.tar.gz", **wanted).headers[told] != first.headers[told]


def test_a_header_that_its_caller_did_not_send_is_not_made_up(adapted: AdaptedContainer) -> None:
    adapted.put("a.tar.gz")
    with adapted.instance() as platform:
        told = platform.request("POST", "/invocations", b"1,2", {TARGET: "a.tar.gz"}).json()["headers"]
        assert set(told) == {"Host", "Content-Length", "X-Amzn-SageMaker-Target-Model"}


def test_a_container_sees_the_contract_and_nothing_of_torpor(adapted: AdaptedContainer) -> None:
    adapted.put("a.tar.gz")
    with adapted.instance() as platform:
        told = call(platform, "a.tar.gz").json()
        port = told["environment"]["SAGEMAKER_BIND_TO_PORT"]
        assert told["file"] == f"port={port}"
        assert "SAGEMAKER_SAFE_PORT_RANGE" in told["environment"]
        assert not [name for name in told["environment"] if name.startswith("TORPOR")]
        assert Path(told["temp"]).is_dir()
    assert not Path(told["temp"]).exists()


@pytest.mark.parametrize("manner", ["partial", "untyped", "map", "slow", "curt", "endless"])
def test_a_container_with_manners_that_sagemaker_tolerates_is_served(adapted: AdaptedContainer, manner: str) -> None:
    for name in ("a", "b", "c", "d"):
        adapted.put(f"{name}.tar.gz")
    with adapted.instance(manner) as platform:
        for name in ("a", "b", "c", "d"):
            assert call(platform, f"{name}.tar.gz").status == 200
        assert resident(platform) == {"a.tar.gz", "b.tar.gz", "c.tar.gz", "d.tar.gz"}


BECOMES = """
import sys
from torpor_container.adapter.foreign_program import start
place = {"folder": "/", "environment": {}, "mounts": {"/opt/ml": sys.argv[1]}}
sys.exit(start({"command": ["true"], **place, "environment": {"PATH": "/bin:/usr/bin"}}, [2]))
"""


def become(folder: Path) -> "subprocess.CompletedProcess[str]":
    """A process of its own, for it gets a mount namespace."""
    return subprocess.run([sys.executable, "-c", BECOMES, str(folder)], capture_output=True, text=True, timeout=60)


@pytest.fixture(scope="module")
def namespaces(tmp_path_factory: pytest.TempPathFactory) -> None:
    done = become(tmp_path_factory.mktemp("any"))
    if done.returncode:
        pytest.skip(f"this machine allows no mount namespace: {done.stderr}")


def test_a_container_without_a_view_of_opt_ml_exits_with_the_reason(tmp_path: Path) -> None:
    done = become(tmp_path / "nowhere")
    assert done.returncode == 127
    assert done.stderr.startswith("opt_ml: the container cannot be shown /opt/ml: ")


@pytest.mark.usefixtures("namespaces")
def test_a_container_may_find_its_models_at_opt_ml_as_they_come_and_go(adapted: AdaptedContainer) -> None:
    for name in ("a", "b"):
        adapted.put(f"{name}.tar.gz")
    with adapted.instance(opt_ml=True, SAGEMAKER_BASE_DIR=str(adapted.folder / "base")) as platform:
        for name in ("a.tar.gz", "b.tar.gz", "a.tar.gz"):
            told = call(platform, name).json()
            assert re.fullmatch("/opt/ml/models/[0-9a-f]{32}/model", told["url"])
            assert told["weights"] == name
            assert platform.request("POST", "/_torpor/unload", json.dumps({"model": name}).encode()).status == 200
        assert told["environment"]["SAGEMAKER_BASE_DIR"] == "/opt/ml"
    assert not Path("/opt/ml/models").exists() or told["model"] not in os.listdir("/opt/ml/models")


@pytest.mark.usefixtures("namespaces")
def test_a_single_model_is_also_found_at_opt_ml(adapted: AdaptedContainer) -> None:
    adapted.put("model.tar.gz")
    source = f"file://{adapted.models}/model.tar.gz"
    with adapted.instance(source=source, opt_ml=True, SAGEMAKER_MULTI_MODEL="false") as platform:
        until(lambda: platform.get("/ping").status == 200)
        told: dict[str, Any] = platform.request("POST", "/invocations", b"1,2").json()
        assert (told["model"], told["weights"]) == ("/opt/ml/model", "model.tar.gz")


def test_an_answer_without_a_content_type_stays_without_one(adapted: AdaptedContainer) -> None:
    adapted.put("a.tar.gz")
    with adapted.instance("untyped") as platform:
        assert "content-type" not in call(platform, "a.tar.gz").headers


def test_on_507_the_dead_registration_is_deleted_an_idle_model_leaves_and_the_load_is_tried_again(
    adapted: AdaptedContainer,
) -> None:
    for name in ("a", "b", "c"):
        adapted.put(f"{name}.tar.gz")
    with adapted.instance(rooms=2) as platform:
        for name in ("a", "b", "c"):
            assert call(platform, f"{name}.tar.gz").status == 200
        assert resident(platform) == {"b.tar.gz", "c.tar.gz"}
        assert ("evict", "a.tar.gz") in decisions(platform, "evict")
        assert call(platform, "a.tar.gz").status == 200


def test_a_507_with_no_model_left_to_unload_reaches_the_caller_and_later_calls_are_tried_again(
    adapted: AdaptedContainer,
) -> None:
    adapted.put("a.tar.gz")
    with adapted.instance(rooms=0) as platform:
        for _ in range(2):
            answer = call(platform, "a.tar.gz")
            assert (answer.status, answer.headers["x-torpor-fault"]) == (507, "no-room")
        assert resident(platform) == set()


def test_a_dead_registration_made_after_its_deletion_is_not_mistaken_for_the_model(
    adapted: AdaptedContainer,
) -> None:
    for name in ("a", "b", "c"):
        adapted.put(f"{name}.tar.gz")
    with adapted.instance("late", rooms=1) as platform:
        for name in ("a", "b", "c", "a"):
            assert call(platform, f"{name}.tar.gz").status == 200


def test_a_model_that_fits_no_memory_evicts_the_others_only_once(adapted: AdaptedContainer) -> None:
    adapted.put("huge.tar.gz", file="huge")
    adapted.put("a.tar.gz")
    with adapted.instance() as platform:
        call(platform, "a.tar.gz")
        assert call(platform, "huge.tar.gz").status == 507
        call(platform, "a.tar.gz")
        assert call(platform, "huge.tar.gz").status == 507
        assert call(platform, "a.tar.gz").headers["x-torpor-model-cache"] == "hit"


def test_a_507_beside_another_load_does_not_mark_a_model_as_too_large(adapted: AdaptedContainer) -> None:
    adapted.put("slow.tar.gz", file="slow")
    adapted.put("a.tar.gz")
    with adapted.instance(rooms=1) as platform, ThreadPoolExecutor(1) as elsewhere:
        other = elsewhere.submit(call, platform, "slow.tar.gz")
        until(lambda: bool(decisions(platform, "load")))
        call(platform, "a.tar.gz")  # it may find no room as long as the other is loading
        assert other.result().status == 200
        until(lambda: call(platform, "a.tar.gz").status == 200)


def test_a_load_that_hangs_ends_in_its_time_though_its_clearing_hangs_too(adapted: AdaptedContainer) -> None:
    adapted.put("stuck.tar.gz", file="stuck")
    adapted.put("a.tar.gz")
    with adapted.instance("clinging", TORPOR_LOAD_TIMEOUT_SECONDS="1") as platform:
        answer = call(platform, "stuck.tar.gz")
        assert (answer.status, "did not load within 1 s" in answer.json()["message"]) == (500, True)
        assert call(platform, "a.tar.gz").status == 200


def test_an_answer_that_is_no_http_is_the_callers_trouble_alone(adapted: AdaptedContainer) -> None:
    adapted.put("a.tar.gz")
    with adapted.instance() as platform:
        answer = call(platform, "a.tar.gz", "garbage")
        assert (answer.status, answer.headers["x-torpor-fault"]) == (500, "model-died")
        assert "no whole answer" in answer.json()["message"]
        assert call(platform, "a.tar.gz").headers["x-torpor-model-cache"] == "hit"
        assert adapted.ends == 0


def test_a_failed_load_passes_on_the_containers_message_and_harms_no_other_model(adapted: AdaptedContainer) -> None:
    adapted.put("bad.tar.gz", file="broken")
    adapted.put("good.tar.gz")
    with adapted.instance() as platform:
        answer = call(platform, "bad.tar.gz")
        assert (answer.status, answer.headers["x-torpor-fault"]) == (500, "load-failed")
        assert "Failed to start workers" in answer.json()["message"]
        assert call(platform, "good.tar.gz").status == 200


def test_a_model_that_the_container_forgot_is_loaded_again(adapted: AdaptedContainer) -> None:
    adapted.put("a.tar.gz")
    with adapted.instance() as platform:
        assert call(platform, "a.tar.gz", "forget").status == 200
        assert call(platform, "a.tar.gz").json()["body"] == "1,2"
        assert [action for action, _ in decisions(platform, "loaded")] == ["loaded", "loaded"]


def test_processor_time_of_the_container_counts_as_the_instances(adapted: AdaptedContainer) -> None:
    adapted.put("a.tar.gz")
    with adapted.instance() as platform:

        def others_s() -> float:
            spent_s: float = platform.get("/_torpor/state").json()["cpu_s"]
            return spent_s - time.process_time()

        before_s = others_s()
        assert call(platform, "a.tar.gz", "burn").status == 200
        assert others_s() - before_s > 0.9


def test_a_handlers_own_404_is_an_answer(adapted: AdaptedContainer) -> None:
    adapted.put("a.tar.gz")
    with adapted.instance() as platform:
        answer = call(platform, "a.tar.gz", "missing")
        assert (answer.status, answer.json()) == (404, {"mine": True})
        assert "x-torpor-fault" not in answer.headers
        assert len(decisions(platform, "loaded")) == 1


def test_an_evicted_model_is_deleted_in_the_container_and_its_folder_stays_while_it_is_loaded(
    adapted: AdaptedContainer,
) -> None:
    adapted.put("a.tar.gz")
    adapted.put("b.tar.gz")
    with adapted.instance(rooms=1, TORPOR_MODEL_CACHE="true") as platform:
        told = call(platform, "a.tar.gz").json()
        assert Path(told["url"]).is_dir()
        call(platform, "b.tar.gz")
        until(lambda: ("unloaded", "a.tar.gz") in decisions(platform, "unloaded"))
        assert call(platform, "a.tar.gz").status == 200


def test_the_ping_is_not_good_before_the_containers_is(adapted: AdaptedContainer) -> None:
    with adapted.instance("slow") as platform:
        assert platform.get("/ping").status == 503
        until(lambda: platform.get("/ping").status == 200)


def test_a_container_that_dies_answers_its_caller_with_500_and_ends_the_instance(adapted: AdaptedContainer) -> None:
    adapted.put("a.tar.gz")
    with adapted.instance() as platform:
        answer = call(platform, "a.tar.gz", "die")
        assert (answer.status, answer.headers["x-torpor-fault"]) == (500, "model-died")
        until(lambda: adapted.ends == 1)
        assert platform.get("/ping").status == 503


def test_a_container_that_cannot_start_ends_its_instance(adapted: AdaptedContainer) -> None:
    with adapted.instance("stillborn") as platform:
        until(lambda: adapted.ends == 1)
        assert platform.get("/ping").status == 503


def test_its_whole_group_is_asked_to_stop(adapted: AdaptedContainer) -> None:
    with adapted.instance("worker") as platform:
        until(lambda: platform.get("/ping").status == 200)
        worker, told = int((adapted.folder / "worker").read_text()), adapted.folder / "worker.told"
    assert told.read_text() == "to stop"  # not only killed when its parent had gone
    until(lambda: gone(worker))


def test_a_single_model_container_is_started_with_its_model_in_place(adapted: AdaptedContainer) -> None:
    adapted.put("model.tar.gz")
    with adapted.instance(source=f"file://{adapted.models}/model.tar.gz", SAGEMAKER_MULTI_MODEL="false") as platform:
        until(lambda: platform.get("/ping").status == 200)
        answer = platform.request("POST", "/invocations", b"1,2", {"Content-Type": "text/csv"})
        told: dict[str, Any] = answer.json()
        assert answer.status == 200
        assert told["headers"] == {"Host": "localhost", "Content-Length": "3", "Content-Type": "text/csv"}
        assert (Path(told["model"]) / "weights").read_text() == "model.tar.gz"


def test_an_adapter_is_fetched_and_registered_once_before_the_first_request_that_names_it(
    adapted: AdaptedContainer,
) -> None:
    for name in ("model.tar.gz", "one.tar.gz", "two.tar.gz"):
        adapted.put(name)
    adapted.put("bad.tar.gz", file="other")

    with adapted.instance(source=f"file://{adapted.models}/model.tar.gz", SAGEMAKER_MULTI_MODEL="false") as platform:
        until(lambda: platform.get("/ping").status == 200)

        def asked(adapter: str = "", artifact: str = "") -> Answer:
            named = {wire.ADAPTER: adapter, wire.ADAPTER_URL: f"file://{adapted.models}/{artifact}"} if adapter else {}
            return platform.request("POST", "/invocations", b"1,2", {"Content-Type": "text/csv", **named})

        assert [asked("lora", "one.tar.gz").json()["adapter"] for _ in range(2)] == ["one.tar.gz"] * 2
        told = asked("lora", "two.tar.gz").json()  # an update gave it another artifact
        assert (told["adapter"], told["calls"]) == ("two.tar.gz", ["adapt lora", "forget lora", "adapt lora"])
        assert told["headers"][wire.ADAPTER] == "lora"
        assert wire.ADAPTER_URL not in told["headers"]
        assert asked().json()["adapter"] is None
        refused = asked("bad", "bad.tar.gz")
        assert (refused.status, "it has no weights" in refused.json()["message"]) == (500, True)
        assert asked("gone", "gone.tar.gz").status in (400, 404)
        assert asked().status == 200


def asked(adapted: AdaptedContainer, platform: Platform, adapter: str, artifact: str) -> Answer:
    named = {wire.ADAPTER: adapter, wire.ADAPTER_URL: f"file://{adapted.models}/{artifact}"}
    return platform.request("POST", "/invocations", b"1,2", {"Content-Type": "text/csv", **named})


def test_the_adapters_of_an_uncompressed_model_are_archives_all_the_same(adapted: AdaptedContainer) -> None:
    adapted.put("one.tar.gz")
    (adapted.models / "weights").write_text("the model's")
    source = f"file://{adapted.models}/weights"
    with adapted.instance(source=source, SAGEMAKER_MULTI_MODEL="false", TORPOR_MODEL_COMPRESSION="none") as platform:
        until(lambda: platform.get("/ping").status == 200)
        assert asked(adapted, platform, "lora", "one.tar.gz").json()["adapter"] == "one.tar.gz"


def packed_adapters(adapted: AdaptedContainer, *names: str) -> None:
    """Adapters of 300 kB each, which no archive makes smaller than half of that."""
    for name in names:
        (adapted.folder / "weights").write_text(name + os.urandom(150_000).hex())
        (adapted.models / name).parent.mkdir(exist_ok=True)
        with tarfile.open(adapted.models / name, "w:gz") as archive:
            archive.add(adapted.folder / "weights", "weights")


def test_adapters_share_the_disk_and_the_one_used_longest_ago_makes_room(adapted: AdaptedContainer) -> None:
    adapted.put("model.tar.gz")
    packed_adapters(adapted, "one", "two", "elsewhere/three")
    source = f"file://{adapted.models}/model.tar.gz"
    with adapted.instance(source=source, SAGEMAKER_MULTI_MODEL="false", TORPOR_DISK_MIB="1") as platform:
        until(lambda: platform.get("/ping").status == 200)
        for name in ("one", "two", "elsewhere/three"):  # each in place of the one before
            assert asked(adapted, platform, "lora", name).json()["adapter"].startswith(name)
        for adapter, artifact in (("other", "one"), ("lora", "elsewhere/three"), ("third", "two")):
            told = asked(adapted, platform, adapter, artifact).json()
            assert told["adapter"].startswith(artifact)
        assert told["calls"][-3:] == ["adapt other", "forget other", "adapt third"]
        told = asked(adapted, platform, "lora", "elsewhere/three").json()
        assert told["calls"][-1] == "adapt third"  # it has stayed: it was used later
        state = platform.get("/_torpor/state").json()
        assert 600_000 < state["disk_bytes"] < state["disk_budget_bytes"]


def test_an_adapter_that_is_larger_than_the_disk_is_refused_with_the_bound(adapted: AdaptedContainer) -> None:
    adapted.put("model.tar.gz")
    packed_adapters(adapted, "one")
    (adapted.folder / "weights").write_text(os.urandom(1_500_000).hex())
    with tarfile.open(adapted.models / "large", "w:gz") as archive:
        archive.add(adapted.folder / "weights", "weights")
    source = f"file://{adapted.models}/model.tar.gz"
    with adapted.instance(source=source, SAGEMAKER_MULTI_MODEL="false", TORPOR_DISK_MIB="1") as platform:
        until(lambda: platform.get("/ping").status == 200)
        assert asked(adapted, platform, "lora", "one").status == 200
        refused = asked(adapted, platform, "big", "large")
        assert refused.status == 507
        assert "adapter big: " in refused.json()["message"]
        assert "TORPOR_DISK_MIB" in refused.json()["message"]
        assert asked(adapted, platform, "lora", "one").json()["calls"] == ["adapt lora"]  # nothing left for it


def test_an_adapter_that_the_container_has_dropped_or_failed_to_take_is_registered_again(
    adapted: AdaptedContainer,
) -> None:
    for name in ("model.tar.gz", "one.tar.gz", "two.tar.gz"):
        adapted.put(name)
    adapted.put("bad.tar.gz", file="other")
    with adapted.instance(
        "forgetful", source=f"file://{adapted.models}/model.tar.gz", SAGEMAKER_MULTI_MODEL="false"
    ) as platform:
        until(lambda: platform.get("/ping").status == 200)
        assert asked(adapted, platform, "lora", "one.tar.gz").status == 200
        assert asked(adapted, platform, "lora", "two.tar.gz").json()["adapter"] == "two.tar.gz"
        assert asked(adapted, platform, "lora", "bad.tar.gz").status == 500
        told = asked(adapted, platform, "lora", "one.tar.gz").json()
        assert (told["adapter"], told["calls"]) == ("one.tar.gz", ["adapt lora", *["forget lora", "adapt lora"] * 3])


def test_a_single_model_container_that_can_not_start_ends_its_instance(adapted: AdaptedContainer) -> None:
    adapted.put("model.tar.gz")
    source = f"file://{adapted.models}/model.tar.gz"
    with adapted.instance("stillborn", source=source, SAGEMAKER_MULTI_MODEL="false") as platform:
        until(lambda: adapted.ends == 1)
        assert platform.get("/ping").status == 503


@pytest.mark.parametrize("mode", ["false", "true"])
def test_the_parts_of_a_stream_pass_through_and_one_that_breaks_off_has_a_fault(
    adapted: AdaptedContainer, mode: str
) -> None:
    adapted.put("a.tar.gz")
    source = f"file://{adapted.models}/a.tar.gz" if mode == "false" else ""
    with adapted.instance(source=source, SAGEMAKER_MULTI_MODEL=mode) as platform:
        until(lambda: platform.get("/ping").status == 200)
        for body in ("stream", "stream broken"):
            answer = call(platform, "a.tar.gz", body, **{wire.STREAM: wire.STREAM_IN_PARTS})
            records = RecordReader()
            assert records.feed(answer.body) == [b"first", b"second"]
            assert (records.ended, records.failure is None) == ((True, True) if body == "stream" else (False, False))
            assert answer.headers["content-type"] == "text/plain"
