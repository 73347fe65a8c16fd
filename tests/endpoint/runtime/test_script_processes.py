"""Scripts on a live endpoint: their environment, their output, and the calls served when a script ends."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.endpoint.helpers import endpoint_pages
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many, one
from tests.endpoint.helpers.model_artifacts import put, script
from tests.endpoint.services.helpers.runtime_answers import refusal
from tests.helpers.waiting import soon

TELLING = """
import os, subprocess, sys
print("the script is loaded")
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept):
    print("asked for", body)
    print("and told so", file=sys.stderr)
    subprocess.run(["sh", "-c", "echo by a program of its own"])
    return os.environ.get(str(body), "not there"), "text/plain"
"""
RAISING = """
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept):
    raise RuntimeError(f"stopped by {body}")
"""
FICKLE = """
import os, time
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept):
    what, _, inside = str(body).partition(" ")
    if what == "stay":
        return "here", "text/plain"
    open(inside, "w").close()
    if what == "hang":
        time.sleep(600)
    open(inside).close()
    os.kill(os.getpid(), 9)
"""
TARGET = {"TargetModel": "m.tar.gz"}


def deployed(live: LiveEndpoint, name: str, source: str, environment: dict[str, str]) -> str:
    put(live.folder(name.lower()), {"m.tar.gz": script(source)})
    return live.deploy(name, Variant(many(name.lower(), environment)))


def test_a_script_has_its_containers_environment_and_its_output_is_in_the_log(live: LiveEndpoint) -> None:
    name = deployed(live, "Telling", TELLING, {"MY_THRESHOLD": "0.7"})
    seen = {
        variable: live.invoke(name, variable.encode(), **TARGET)["Body"].decode()
        for variable in ("MY_THRESHOLD", "AWS_ENDPOINT_URL", "SAGEMAKER_MULTI_MODEL", "TORPOR_WARM_PARENT")
    }
    assert seen == {
        "MY_THRESHOLD": "0.7",
        "AWS_ENDPOINT_URL": live.url,
        "SAGEMAKER_MULTI_MODEL": "true",
        "TORPOR_WARM_PARENT": "not there",
    }
    words = {"the script is loaded", "asked for MY_THRESHOLD", "and told so", "by a program of its own"}
    assert soon(lambda: words <= logged(live, name))


def test_an_error_that_a_model_raises_is_in_the_log_too(live: LiveEndpoint) -> None:
    """A ModelError says "See `torpor logs Raising` or the log group ..."."""
    name = deployed(live, "Raising", RAISING, {})
    put(live.folder("raising"), {"broken.tar.gz": script("raise ImportError('no such helper')")})
    refusal(lambda: live.invoke(name, b"stop", **TARGET))
    refusal(lambda: live.invoke(name, b"stop", TargetModel="broken.tar.gz"))
    words = ["m.tar.gz: stopped by stop", "RuntimeError: stopped by stop", "ImportError: no such helper"]
    assert soon(lambda: all(lines(live, name).count(line) == 1 for line in words))


def logged(live: LiveEndpoint, endpoint: str) -> set[str]:
    return set(lines(live, endpoint))


def lines(live: LiveEndpoint, endpoint: str) -> list[str]:
    events = live.client("logs").filter_log_events(logGroupName=f"/aws/sagemaker/Endpoints/{endpoint}")["events"]
    return [event["message"] for event in events]


@pytest.mark.parametrize("how", ["hang", "leave"])
@pytest.mark.parametrize("kind", ["Many", "One"])
def test_a_call_behind_one_that_ends_the_script_is_served_by_the_next_process(
    live: LiveEndpoint, tmp_path: Path, kind: str, how: str
) -> None:
    put(live.folder("fickle"), {"m.tar.gz": script(FICKLE)})
    environment = {"TORPOR_INVOCATION_TIMEOUT_SECONDS": "1"} if how == "hang" else {}
    container = many("fickle", environment) if kind == "Many" else one("fickle/m.tar.gz", environment)
    name = live.deploy(f"Fickle{kind}{how.title()}", Variant(container))
    members: dict[str, Any] = TARGET if kind == "Many" else {}
    inside = tmp_path / "inside"
    os.mkfifo(inside)
    with ThreadPoolExecutor() as pool:
        bad = pool.submit(refusal, lambda: live.invoke(name, f"{how} {inside}".encode(), **members))
        inside.open().close()  # returns when the script is at work
        if how == "hang":
            time.sleep(0.4)  # who came with a call that hangs is out of time with it
        behind = [pool.submit(live.invoke, name, b"stay", **members) for _ in range(3)]
        if how == "leave":
            assert soon(lambda: endpoint_pages.instance(live, name)["in_flight"] == 4)
            inside.open("w").close()  # now it may
        assert bad.result()["OriginalStatusCode"] == (0 if how == "hang" else 507)
        assert [call.result()["Body"] for call in behind] == [b"here"] * 3
