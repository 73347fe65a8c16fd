"""The container contract as a platform drives it: load, list, get, invoke, unload, and each of its status codes."""

import io
import json
import os
import pickle
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import xgboost

from tests.container.helpers.contract_platform import WITHIN_S, Answer, Platform
from tests.helpers.forked_starts import starting
from tests.helpers.waiting import until
from torpor_container.processes.memory import uss_bytes
from torpor_container.processes.zygote_client import ZygoteClient

CSV = {"Content-Type": "text/csv"}
MIB = 1024 * 1024
ATTRIBUTES = "X-Amzn-SageMaker-Custom-Attributes"
SCRIPT = """
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept, context):
    context.set_response_header(0, "X-Amzn-SageMaker-Custom-Attributes", "seen")
    return open(str(body)).read(), "text/plain"
"""
"""Its answer comes when somebody has written to the pipe that the body names."""


@pytest.fixture
def quick(tmp_path: Path, zygote: ZygoteClient) -> Callable[..., Platform]:
    """Makes an instance that starts at once: it shares the zygote of all tests, and tries no model apart."""
    return partial(Platform, tmp_path, TORPOR_WARM_PARENT=str(zygote.path), TORPOR_TRIALS="false")


@pytest.fixture
def platform(quick: Callable[..., Platform]) -> Iterator[Platform]:
    with quick() as instance:
        yield instance


@pytest.fixture(scope="module")
def scripted(tmp_path_factory: pytest.TempPathFactory, zygote: ZygoteClient) -> Iterator[Platform]:
    """One instance for all stories with a script, which has a process of its own from the zygote of all tests."""
    folder, parent = tmp_path_factory.mktemp("scripted"), str(zygote.path)
    with budgeted(folder, 200, parent) as instance:
        yield instance


def budgeted(folder: Path, more_mib: int, zygote: str = "") -> Platform:
    """An instance that may take so much more than this process has already.

    It tries no model apart: a process of trials shares the pages of libraries with this one, which are then no longer
    counted as this one's own.
    """
    memory_mib = str(uss_bytes() / MIB + more_mib)
    return Platform(folder, TORPOR_MEMORY_MIB=memory_mib, TORPOR_TRIALS="false", TORPOR_WARM_PARENT=zygote)


@pytest.fixture(scope="session")
def booster() -> bytes:
    rows = np.random.default_rng(7).normal(size=(50, 4)).astype(np.float32)
    trained = xgboost.train({"max_depth": 2}, xgboost.DMatrix(rows, rows @ np.arange(1.0, 5.0)), 5)
    return bytes(trained.save_raw("json"))


def unpacked(folder: Path, name: str, files: dict[str, bytes]) -> str:
    """The folder that the platform fills before it calls LoadModel: the `url`."""
    directory = folder / "models" / name / "model"
    for path, body in files.items():
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_bytes(body)
    directory.mkdir(parents=True, exist_ok=True)
    return str(directory)


@pytest.fixture
def loaded(platform: Platform, tmp_path: Path, booster: bytes) -> str:
    """The id of a loaded model."""
    assert platform.load("ab12", unpacked(tmp_path, "ab12", {"model.json": booster})).status == 200
    return "ab12"


def test_ping_is_good_before_any_model_is_loaded(platform: Platform) -> None:
    assert platform.get("/ping").status == 200
    assert platform.get("/models").json() == {"models": []}


def test_a_model_s_life(tmp_path: Path, booster: bytes) -> None:
    """In an instance as it is: with a zygote of its own, and with trials."""
    url = unpacked(tmp_path, "cafe", {"model.json": booster})
    described = {"modelName": "cafe", "modelUrl": url}
    with Platform(tmp_path) as platform:
        assert platform.load("cafe", url).status == 200
        assert platform.get("/models").json() == {"models": [described]}
        assert platform.get("/models/cafe").json().items() >= described.items()
        answer = platform.invoke("cafe", b"1,2,3,4\n5,6,7,8")
        assert (answer.status, len(answer.json())) == (200, 2)
        assert platform.delete("cafe").status == 200
        assert platform.get("/models/cafe").status == 404
        assert platform.load("cafe", url).status == 200


def test_answers_use_the_words_of_multi_model_server(platform: Platform, tmp_path: Path, booster: bytes) -> None:
    """Read off Multi Model Server 1.1.11, as suites for AWS's images assert them."""
    url = unpacked(tmp_path, "words", {"model.json": booster})
    assert platform.load("words", url).body == b'{\n  "status": "Workers scaled"\n}\n'
    described = platform.get("/models/words").json()
    assert (described["minWorkers"], described["maxWorkers"], described["loadedAtStartup"]) == (1, 1, False)
    assert [worker["status"] for worker in described["workers"]] == ["READY"]
    assert platform.delete("words").body == b'{\n  "status": "Model \\"words\\" unregistered"\n}\n'
    assert platform.delete("words").json()["message"] == "Model not found: words"
    assert platform.load("words", "/no/where").json()["message"] == "Model not found in model store: /no/where"
    no_url = platform.request("POST", "/models", b'{"model_name": "words"}').json()["message"]
    assert no_url.startswith("Parameter url is required.")


def test_a_model_that_is_loaded_already_is_a_conflict(platform: Platform, loaded: str, tmp_path: Path) -> None:
    answer = platform.load(loaded, str(tmp_path / "models" / loaded / "model"))
    assert (answer.status, answer.json()["type"]) == (409, "ConflictStatusException")
    assert answer.json()["message"] == "Model ab12 is already registered."


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/models/none"), ("DELETE", "/models/none"), ("POST", "/models/none/invoke")]
)
def test_a_model_that_is_not_loaded_is_not_found(platform: Platform, loaded: str, method: str, path: str) -> None:
    answer = platform.request(method, path)
    assert (answer.status, answer.json()["type"]) == (404, "ModelNotFoundException")


BROKEN = {
    "no folder": (None, 404),
    "no model in it": ({"notes.txt": b"no"}, 500),
    "torn": ({"model.json": b"{"}, 500),
    "script raises": ({"inference.py": b"raise RuntimeError('no')"}, 500),
    "script exits": ({"inference.py": b"import os; os._exit(3)"}, 500),
    "script eats memory": ({"inference.py": b"eaten = [bytearray(8 << 20) for _ in range(10_000)]"}, 507),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_failed_load_answers_its_status_and_leaves_nothing(
    scripted: Platform, tmp_path: Path, case: str, booster: bytes
) -> None:
    files, status = BROKEN[case]
    url = unpacked(tmp_path, "bad", files) if files is not None else str(tmp_path / "nowhere")
    answer = scripted.load("bad", url)
    assert (answer.status, answer.json()["code"]) == (status, status)
    assert scripted.get("/models/bad").status == 404
    assert scripted.load("bad", unpacked(tmp_path, "good", {"model.json": booster})).status == 200
    assert scripted.delete("bad").status == 200


def test_over_budget_is_507_and_nothing_is_evicted_for_it(tmp_path: Path, booster: bytes) -> None:
    large = {"model.json": booster, "tables.bin": bytes(64 * MIB)}
    with budgeted(tmp_path, 20) as platform:
        assert platform.load("small", unpacked(tmp_path, "small", {"model.json": booster})).status == 200
        answer = platform.load("large", unpacked(tmp_path, "large", large))
        assert (answer.status, answer.json()["type"]) == (507, "InsufficientMemoryException")
        assert platform.get("/models/large").status == 404
        assert platform.invoke("small", b"1,2,3,4").status == 200


def test_models_of_one_size_are_loaded_until_the_next_one_is_over_budget(tmp_path: Path, booster: bytes) -> None:
    url = unpacked(tmp_path, "table", {"model.joblib": joblib_of(Table(60 * MIB))})
    with budgeted(tmp_path, 150) as platform:
        statuses = [platform.load(name, url).status for name in "abcd"]
        assert statuses == [200, 200, 507, 507]
        assert platform.delete("a").status == 200
        assert platform.load("c", url).status == 200
        assert sorted(model["modelName"] for model in platform.get("/models").json()["models"]) == ["b", "c"]


def test_a_model_that_turns_out_too_large_is_507_and_gone(tmp_path: Path) -> None:
    small_on_disk = joblib_of(Table(100 * MIB), compress=1)
    with budgeted(tmp_path, 50) as platform:
        assert platform.load("large", unpacked(tmp_path, "large", {"model.joblib": small_on_disk})).status == 507
        assert platform.get("/models").json() == {"models": []}


class Table:
    """A model of the given size, with empty answers."""

    def __init__(self, size_bytes: int) -> None:
        self.values = np.zeros(size_bytes, np.int8)

    def predict(self, rows: object) -> None:
        """Never called."""


def joblib_of(model: Table, compress: int = 0) -> bytes:
    written = io.BytesIO()
    joblib.dump(model, written, compress=compress)
    return written.getvalue()


NO_LOAD = (
    b"",
    b"{",
    b"[" * 100_000,
    b"[]",
    b'{"model_name": "a"}',
    b'{"url": "/x"}',
    b'{"model_name": 1, "url": "/x"}',
)
NO_NAMES = ("a/b", "a/invoke", "a\n", "\ud800")


@pytest.mark.parametrize("body", NO_LOAD)
def test_a_load_request_that_is_none_is_400(platform: Platform, body: bytes) -> None:
    answer = platform.request("POST", "/models", body)
    assert (answer.status, answer.json()["type"]) == (400, "BadRequestException")


@pytest.mark.parametrize("name", NO_NAMES)
def test_a_name_that_no_path_can_have_is_not_loaded(
    platform: Platform, tmp_path: Path, booster: bytes, name: str
) -> None:
    assert platform.load(name, unpacked(tmp_path, "fine", {"model.json": booster})).status == 400
    assert platform.load("fine", f"/nowhere/{'a' * 5000}").status == 404
    assert platform.get("/models").json() == {"models": []}


def test_a_list_of_many_comes_in_pages_of_100(platform: Platform, tmp_path: Path, booster: bytes) -> None:
    names = [f"{number:03x}" for number in range(205)]
    url = unpacked(tmp_path, "shared", {"model.json": booster})
    assert {platform.load(name, url).status for name in names} == {200}
    listed: list[str] = []
    query = ""
    sizes = []
    while True:
        page = platform.get(f"/models{query}").json()
        sizes.append(len(page["models"]))
        listed += [model["modelName"] for model in page["models"]]
        if "nextPageToken" not in page:
            break
        query = f"?next_page_token={page['nextPageToken']}"
    assert (sizes, listed) == ([100, 100, 5], names)
    assert platform.get("/models?next_page_token=x").status == 400


@pytest.mark.parametrize("query", ["/models?next_page_token=", "/_torpor/state?after="])
@pytest.mark.parametrize("number", ["x", "-1", "%C2%B2"], ids=["text", "negative", "a small 2"])
def test_a_place_in_a_list_that_is_no_number_is_400(platform: Platform, query: str, number: str) -> None:
    assert platform.get(query + number).status == 400


def test_the_platform_s_header_does_not_choose_the_model(platform: Platform, loaded: str) -> None:
    headers = {**CSV, "X-Amzn-SageMaker-Target-Model": "other.tar.gz"}
    assert platform.invoke(loaded, b"1,2,3,4", headers).status == 200


def test_headers_reach_the_model_and_return(
    platform: Platform, scripted: Platform, loaded: str, tmp_path: Path
) -> None:
    answer = platform.invoke(loaded, b"1,2,3,4", {**CSV, "Accept": "text/csv"})
    assert answer.headers["content-type"].startswith("text/csv")
    assert "predict;dur=" in answer.headers["server-timing"]
    assert ATTRIBUTES.lower() not in answer.headers
    text = tmp_path / "text"
    text.write_text("read")
    scripted.load("talking", unpacked(tmp_path, "talking", {"inference.py": SCRIPT.encode()}))
    spoken = scripted.invoke("talking", str(text).encode(), {ATTRIBUTES: "mine"})
    assert (spoken.body, spoken.headers[ATTRIBUTES.lower()]) == (b"read", "seen")


BURNS = """
import time
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept):
    until_s = time.process_time() + 1.0
    while time.process_time() < until_s:
        pass
    return "burnt"
"""


def test_processor_time_of_scripts_counts_as_the_instances_even_after_their_end(
    scripted: Platform, tmp_path: Path
) -> None:
    def others_s() -> float:
        spent_s: float = scripted.get("/_torpor/state").json()["cpu_s"]
        return spent_s - time.process_time()

    before_s = others_s()
    scripted.load("burns", unpacked(tmp_path, "burns", {"inference.py": BURNS.encode()}))
    assert scripted.invoke("burns", b"").body == b"burnt"
    assert others_s() - before_s > 0.9
    assert scripted.delete("burns").status == 200
    assert others_s() - before_s > 0.9


BAD_REQUESTS = (
    ({"Content-Type": "image/png"}, b"x", 415),
    ({**CSV, "Accept": "image/png"}, b"1,2,3,4", 406),
    (CSV, b"1,2", 400),
    (CSV, b"1" * 2000, 413),
)


def test_bad_requests_have_their_statuses(tmp_path: Path, booster: bytes, quick: Callable[..., Platform]) -> None:
    with quick(TORPOR_BODY_MAX_BYTES="1000") as platform:
        platform.load("a", unpacked(tmp_path, "a", {"model.json": booster}))
        for headers, body, status in BAD_REQUESTS:
            answer = platform.invoke("a", body, headers)
            assert (answer.status, answer.json()["code"]) == (status, status)


def test_a_body_that_ends_too_early_is_not_predicted_on(platform: Platform, loaded: str) -> None:
    begun = b"0.1,0.2,0.3,0.4\n"
    assert platform.invoke(loaded, begun).status == 200
    answer = platform.invoke_and_leave(loaded, begun)
    assert (answer.status, answer.json()["message"]) == (400, "the body ended before it was whole")


def test_an_unload_waits_for_calls_in_flight_and_accepts_no_new_ones(scripted: Platform, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    scripted.load("busy", unpacked(tmp_path, "busy", {"inference.py": SCRIPT.encode()}))
    answers: dict[str, Answer] = {}

    def call(name: str, method: str, path: str, body: bytes = b"") -> threading.Thread:
        def run() -> None:
            answers[name] = scripted.request(method, path, body)

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    invoking = call("invoke", "POST", "/models/busy/invoke", str(pipe).encode())
    with pipe.open("w") as held:  # opens when the call is inside its model
        unloading = call("unload", "DELETE", "/models/busy")
        until(lambda: scripted.get("/models/busy").status != 200)
        assert scripted.invoke("busy", b"").status == 404
        assert "unload" not in answers
        held.write("done")
    invoking.join()
    unloading.join()
    assert (answers["invoke"].status, answers["invoke"].body) == (200, b"done")
    assert answers["unload"].status == 200


def test_a_model_being_unloaded_is_no_longer_listed_and_can_be_loaded_again(scripted: Platform, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    url = unpacked(tmp_path, "back", {"inference.py": SCRIPT.encode()})
    scripted.load("back", url)
    invoking = scripted.sent("POST", "/models/back/invoke", str(pipe).encode())
    with pipe.open("w") as held:  # opens when the call is inside its model
        unloading = scripted.sent("DELETE", "/models/back")
        loading = scripted.loading("back", url)
        listed = scripted.get("/models")
        assert (listed.status, b'"back"' in listed.body) == (200, False)
        assert [unloading.done(), loading.done()] == [False, False]
        held.write("done")
    answers = [future.result(60.0) for future in (invoking, unloading, loading)]
    assert [answer.status for answer in answers] == [200, 200, 200]
    assert scripted.get("/models/back").status == 200
    assert scripted.delete("back").status == 200


FICKLE = """
import os, time
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept):
    what, _, inside = str(body).partition(" ")
    if what == "leave":
        os._exit(3)
    if what == "hang":
        open(inside, "w").close()
        time.sleep(600)
    return "here", "text/plain"
"""


@pytest.fixture
def fickle(platform: Platform, tmp_path: Path) -> Platform:
    """An instance with this script, which has a minute for each answer."""
    platform.load("fickle", unpacked(tmp_path, "fickle", {"inference.py": FICKLE.encode()}))
    return platform


@pytest.fixture
def hanging(fickle: Platform, tmp_path: Path) -> "Future[Answer]":
    """A call that the script is at work on, and will be for ever."""
    inside = tmp_path / "inside"
    os.mkfifo(inside)
    call = fickle.sent("POST", "/models/fickle/invoke", f"hang {inside}".encode())
    inside.open().close()  # returns when the script is at work
    return call


def test_a_script_that_ends_is_started_again(fickle: Platform) -> None:
    assert fickle.invoke("fickle", b"leave").status == 500
    assert fickle.invoke("fickle", b"stay").body == b"here"
    assert fickle.delete("fickle").status == 200


def test_a_script_that_hangs_is_ended_in_time_and_started_again(fickle: Platform, hanging: "Future[Answer]") -> None:
    fickle.leap(60.0)
    assert hanging.result(WITHIN_S).status == 500
    assert fickle.invoke("fickle", b"stay").body == b"here"
    assert fickle.delete("fickle").status == 200


def test_calls_behind_a_hanging_script_are_served_after_the_script_restarts(
    fickle: Platform, hanging: "Future[Answer]"
) -> None:
    fickle.leap(30.0)
    behind = [fickle.sent("POST", "/models/fickle/invoke", b"stay") for _ in range(3)]
    assert fickle.get("/ping").status == 200  # they are in line
    assert not hanging.done()
    fickle.leap(30.0)
    assert [call.result(WITHIN_S).body for call in behind] == [b"here"] * 3
    assert hanging.result(WITHIN_S).status == 500


def test_every_path_may_have_a_prefix(tmp_path: Path, booster: bytes, quick: Callable[..., Platform]) -> None:
    with quick(TORPOR_PATH_PREFIX="/v1/") as platform:
        url = unpacked(tmp_path, "a", {"model.json": booster})
        assert platform.get("/v1/ping").status == 200
        assert (
            platform.request("POST", "/v1/models", json.dumps({"model_name": "a", "url": url}).encode()).status == 200
        )
        assert platform.request("POST", "/v1/models/a/invoke", b"1,2,3,4", CSV).status == 200
        assert [platform.get(path).status for path in ("/ping", "/models", "/models/a")] == [404, 404, 404]


def test_a_model_that_the_instance_keeps_itself_is_not_the_platform_s_to_load(
    tmp_path: Path, quick: Callable[..., Platform]
) -> None:
    with quick(TORPOR_MODEL_SOURCE=f"file://{tmp_path}") as kept:
        answer = kept.load("a", str(tmp_path))
        assert answer.status == 405
        assert "TORPOR_MODEL_SOURCE" in answer.json()["message"]


class UnixConnection(HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("instance", timeout=60.0)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(str(self._path))


def call(path: Path, method: str, target: str, body: bytes = b"") -> tuple[int, bytes]:
    connection = UnixConnection(path)
    try:
        connection.request(method, target, body, CSV)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def until_pinged(path: Path, process: starting.Started) -> None:
    def answered() -> bool:
        assert process.poll() is None
        with suppress(OSError):
            return bool(call(path, "GET", "/ping")[0] == 200)
        return False

    until(answered, 30.0, 0.02)


LARGE = """
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept):
    return b"x" * 20_000_000, "application/octet-stream"
"""


@contextmanager
def served(folder: Path, **settings: str) -> Iterator[tuple[Path, starting.Started]]:
    """The image's command on a Unix socket, terminated with the block."""
    path = folder / "socket"
    own = {
        "SAGEMAKER_MULTI_MODEL": "true",
        "SAGEMAKER_BASE_DIR": str(folder),
        "TORPOR_SOCKET": str(path),
        "TORPOR_SCRIPT_WRITES": str(folder),
    }
    command = [sys.executable, "-m", "torpor_container", "serve"]
    with (folder / "log").open("wb") as log:
        process = starting.start(command, log, env={**os.environ, **own, **settings})
    try:
        until_pinged(path, process)
        yield path, process
    finally:
        process.terminate()
        process.wait()


def load_request(folder: Path, name: str, files: dict[str, bytes]) -> bytes:
    return json.dumps({"model_name": name, "url": unpacked(folder, name, files)}).encode()


def test_the_images_command_serves_on_a_unix_socket_and_stops_promptly(tmp_path: Path, booster: bytes) -> None:
    with served(tmp_path) as (path, process):
        for name, files in {"a": {"model.json": booster}, "large": {"inference.py": LARGE.encode()}}.items():
            assert call(path, "POST", "/models", load_request(tmp_path, name, files))[0] == 200
        assert call(path, "POST", "/models/a/invoke", b"1,2,3,4")[0] == 200
        leave_in_the_middle_of_the_answer(path, "/models/large/invoke")
        process.terminate()
        assert process.wait(60.0) == 0


class Hangs:
    """Pickled, it is a model that predicts several columns for a minute, and prints that it does."""

    WORK = "len(rows.T) > 1 and (print('at it') or __import__('time').sleep(60))"
    SOURCE = f"type('Model', (), {{'predict': lambda model, rows: {WORK}}})()"

    def __reduce__(self) -> tuple[Any, ...]:
        return eval, (self.SOURCE,)


def test_the_images_command_stops_promptly_though_a_model_hangs(tmp_path: Path) -> None:
    """It still prints and logs its last lines, and exits with the code of an orderly end."""
    with served(tmp_path, TORPOR_INVOCATION_TIMEOUT_SECONDS="0.2") as (path, process):
        model = load_request(tmp_path, "hangs", {"model.pkl": pickle.dumps(Hangs())})
        assert call(path, "POST", "/models", model)[0] == 200
        status, body = call(path, "POST", "/models/hangs/invoke", b"1,2,3,4")
        assert (status, b"did not answer within 0.2 s" in body) == (500, True)
        process.terminate()
        assert process.wait(60.0) == 0
    log = (tmp_path / "log").read_text()
    assert [line in log for line in ("at it", "did not answer within 0.2 s", "Worker exiting")] == [True] * 3


def leave_in_the_middle_of_the_answer(path: Path, target: str) -> None:
    connection = UnixConnection(path)
    connection.request("POST", target, b"", CSV)
    connection.getresponse().read(1)
    connection.close()
