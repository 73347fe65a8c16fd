"""`torpor conformance`: options, output and exit codes; and what our own container and Multi Model Server keep."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import IO
from uuid import uuid4
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner, Result

from tests.helpers.forked_starts import starting
from tests.helpers.processes import marked
from tests.helpers.waiting import soon, until
from tests.sdk.helpers.broken_container import broken
from tests.sdk.helpers.small_models import ROWS, train_booster
from torpor.cli import app
from torpor.conformance import started_container
from torpor.conformance.rules import BY_ID

MULTI_MODEL_SERVER = Path(__file__).parents[4] / "examples" / "images" / "multi-model-server.sh"
SCRIPT = """
import time
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept):
    if str(body) == "slow":
        time.sleep(0.3)
        return "done", "text/plain"
    if str(body) == "stream":
        return slowly(), "text/plain"
    rows = str(body)[:600].split()
    return "".join(f"{sum(map(float, row.split(',')))}\\n" for row in rows), "text/csv"
def slowly():
    yield "first"
    time.sleep(0.3)
    yield "second"
"""
SERVICE = """
import time
def handle(data, context):
    if data and bytes(data[0]["body"]) == b"slow":
        time.sleep(1)
    return [f"{len(row['body'])} bytes" for row in data or ()]
"""
FULL = "def handle(data, context):\n    raise MemoryError\n"
OF_A_SCRIPT = {"unknown-content-type", "bad-body-4xx"}
"""A script chooses its own statuses: this one raises on what it cannot read."""
OF_MULTI_MODEL_SERVER = {
    "load-bad-request-4xx",
    "load-507-again",
    "odd-model-names",
    "connection-close",
    "get-refused",
    "unknown-content-type",
    "answer-content-type",
}
"""What Multi Model Server 1.1.11 breaks. An invocation whose model is unloaded meanwhile gets 500 or no answer at all:
the test does not wait for that."""


def run(*arguments: object, **environment: str) -> Result:
    return CliRunner().invoke(app, ["conformance", *map(str, arguments)], env=environment)


def written(folder: Path, **files: str) -> dict[str, Path]:
    """Files of a folder, by name: an underscore stands for the dot of a suffix."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return {name: folder / name.replace("_", ".") for name in files}


def judged(done: Result, judgement: str) -> set[str]:
    return {rule["id"] for rule in json.loads(done.stdout)["rules"] if rule["judgement"] == judgement}


def broken_in(done: Result) -> set[str]:
    return judged(done, "broken")


def skipped_in(done: Result) -> set[str]:
    return judged(done, "skipped")


def test_a_container_that_keeps_the_contract_ends_with_0(tmp_path: Path) -> None:
    sample = written(tmp_path, row_csv="1,2,3\n")["row_csv"]
    with broken() as port:
        done = run("--url", f"http://127.0.0.1:{port}", "--body", sample, "--junit", tmp_path / "junit.xml")
    assert done.exit_code == 0, done.output
    assert "  ok      must   ping-200" in done.stdout
    assert "\x1b" not in done.stdout
    assert ElementTree.parse(tmp_path / "junit.xml").getroot().get("failures") == "0"


def test_a_broken_must_ends_with_1_and_says_what_to_mend() -> None:
    with broken("large is 413", "HEAD is 500") as port:
        done = run("--url", f"http://127.0.0.1:{port}")
    assert done.exit_code == 1
    assert "Mend first: large-body: a body of 6 MiB got 413" in done.stdout
    assert BY_ID["large-body"].mend in done.stdout
    assert "(1 must, 1 should)" in done.stdout


def test_a_broken_should_alone_ends_with_0() -> None:
    with broken("HEAD is 500") as port:
        assert run("--url", f"http://127.0.0.1:{port}", "--only", "get-refused").exit_code == 0


def test_only_and_skip_choose_rules() -> None:
    with broken() as port:
        url = f"http://127.0.0.1:{port}"
        chosen = run("--url", url, "--only", "ping-200", "--only", "invoke", "--skip", "invoke", "--json")
    assert [rule["id"] for rule in json.loads(chosen.stdout)["rules"]] == ["ping-200"]


def test_the_list_has_every_rule_and_asks_no_container() -> None:
    assert [rule["id"] for rule in json.loads(run("--list", "--json").stdout)] == list(BY_ID)
    shown = run("--list").stdout
    assert [id for id in BY_ID if id not in shown] == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "name one container"),
        (["--url", "http://127.0.0.1:1", "--", "true"], "name one container"),
        (["--url", "https://127.0.0.1:1"], "plain HTTP"),
        (["--url", "http://127.0.0.1:1/prefix"], "plain HTTP"),
        (["--url", "http://127.0.0.1:port"], "--url"),
        (["--url", "http://127.0.0.1:1", "--only", "ping-20"], "ping-200"),
        (["--url", "http://127.0.0.1:1", "--skip", "zzz"], "--list"),
        (["--only", "invoke", "--skip", "invoke", "--url", "http://127.0.0.1:1"], "no rule"),
        (["--url", "http://127.0.0.1:1", "--as", "single"], "streaming"),
        (["--url", "http://127.0.0.1:1", "--model", "a.tar.gz"], "NAME=PATH"),
        (["--url", "http://127.0.0.1:1", "--model", "a=/no/where"], "/no/where"),
        (["--url", "http://127.0.0.1:1", "--model", f"a={__file__}"], "tar archive"),
        (["--url", "http://127.0.0.1:1", "--body", "/no/where"], "--body"),
        (["--url", "http://127.0.0.1:1", "--body", __file__], "--content-type"),
        (["--url", "http://127.0.0.1:1", "--time-scale", "0"], "--time-scale"),
        (["--url", "http://127.0.0.1:1", "--junit", "/no/where/junit.xml"], "--junit"),
        (["--", "there-is-no-such-program"], "cannot be run"),
    ],
)
def test_a_wrong_call_ends_with_2_and_says_why(arguments: list[str], says: str) -> None:
    refused = run(*arguments, COLUMNS="400")
    assert refused.exit_code == 2
    assert says in refused.output


def test_a_signal_ends_the_container_too() -> None:
    container = [sys.executable, "-m", "tests.sdk.helpers.broken_container", "serve", "load hangs", "invoke hangs"]
    command = [sys.executable, "-m", "torpor", "conformance", "--only", "invoke", "--", *container]
    mark = f"of-{uuid4().hex}"
    with subprocess.Popen(command, env={**os.environ, "MARK": mark}, stdout=subprocess.DEVNULL) as checking:
        until(lambda: len(marked(f"MARK={mark}")) > 1)  # the command, and its container
        checking.terminate()
        assert checking.wait(60.0) != 0
    assert soon(lambda: not marked(f"MARK={mark}"))


# -- real containers -----------------------------------------------------------------------------------------------
@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container that the command starts is a fork of a process that has imported ours."""

    def start(command: Sequence[str], *, stdout: IO[bytes], env: Mapping[str, str], **_: object) -> starting.Started:
        return starting.start(command, stdout, env=env)

    launching = SimpleNamespace(Popen=start, DEVNULL=subprocess.DEVNULL, TimeoutExpired=subprocess.TimeoutExpired)
    monkeypatch.setattr(started_container, "subprocess", launching)


@pytest.mark.thorough
@pytest.mark.usefixtures("forked")
def test_our_own_container_keeps_the_contract_for_one_model(tmp_path: Path) -> None:
    written(tmp_path / "model", inference_py=SCRIPT)
    given = written(tmp_path, row_csv="1,2,3\n", slow_csv="slow", stream_csv="stream")
    samples = ("--body", given["row_csv"], "--slow-body", given["slow_csv"], "--stream-body", given["stream_csv"])
    uses = ("--as", "pipeline,streaming", "--json")
    done = run(
        *samples, *uses, "--", sys.executable, "-m", "torpor_container", "serve", SAGEMAKER_BASE_DIR=str(tmp_path)
    )
    assert broken_in(done) <= OF_A_SCRIPT, done.output
    assert done.exit_code == 0
    assert {"stream-chunked", "stream-first-part"} <= judged(done, "kept")


@pytest.mark.usefixtures("forked")
def test_our_own_container_keeps_the_contract_for_many_models(tmp_path: Path) -> None:
    booster = train_booster(rounds=5)
    for name in ("small", "large"):
        (tmp_path / name).mkdir()
        booster.save_model(tmp_path / name / "model.json")
    with (tmp_path / "large" / "tables.bin").open("wb") as file:
        file.truncate(8 << 30)  # more than its memory; it takes no disk
    row = written(tmp_path, row_csv=",".join(map(str, ROWS[0])))["row_csv"]
    models = ("--model", f"small.tar.gz={tmp_path / 'small'}", "--too-large", f"large.tar.gz={tmp_path / 'large'}")
    options = ("--body", row, "--listed-models", 101, "--as", "pipeline", "--json")
    environment = {"SAGEMAKER_BASE_DIR": str(tmp_path), "TORPOR_MEMORY_MIB": "2000"}
    done = run(*models, *options, "--", sys.executable, "-m", "torpor_container", "serve", **environment)
    assert (broken_in(done), done.exit_code) == (set(), 0), done.output
    assert skipped_in(done) == {"ping-while-invoking"}


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("java") is None, reason="Multi Model Server needs Java")
@pytest.mark.skipif(importlib.util.find_spec("mms") is None, reason="multi-model-server is not installed")
def test_multi_model_server_keeps_the_rest(tmp_path: Path) -> None:
    written(tmp_path / "small", service_py=SERVICE)
    written(tmp_path / "large", service_py=FULL)
    given = written(tmp_path, row_txt="a b c", slow_txt="slow")
    models = ("--model", f"small.tar.gz={tmp_path / 'small'}", "--too-large", f"large.tar.gz={tmp_path / 'large'}")
    samples = ("--body", given["row_txt"], "--slow-body", given["slow_txt"])
    options = ("--content-type", "text/plain", "--skip", "unload-while-busy", "--as", "pipeline", "--json")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = run(*models, *samples, *options, "--", "sh", MULTI_MODEL_SERVER, "{port}", tmp_path, PATH=path)
    assert broken_in(done) <= OF_MULTI_MODEL_SERVER, done.output
    assert "load-507-again" in broken_in(done)
