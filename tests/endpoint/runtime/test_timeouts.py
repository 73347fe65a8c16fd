"""Time limits: a load that outlasts its caller continues, and a model that hangs fails only its own callers."""

import json
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import ROW, booster, predicted, put, script
from tests.endpoint.services.helpers.runtime_answers import code_and_status, refusal, steps_of
from torpor_container.core.work_wait import WALL_MULTIPLE

SLOW = """
import os
def model_fn(model_dir):
    return open({pipe!r}).read()
def transform_fn(model, body, content_type, accept):
    return model, "text/plain"
"""
HANGING = """
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept):
    import time
    open(str(body), "w").close()
    time.sleep(600)
"""
SETTINGS = {
    "TORPOR_READY_WAIT_SECONDS": "0.5",
    "TORPOR_LOAD_TIMEOUT_SECONDS": "3",
}


@pytest.fixture(scope="module")
def brief(live: LiveEndpoint) -> str:
    return live.deploy("Brief", Variant(many("brief", SETTINGS)))


@pytest.fixture(scope="module")
def hurried(live: LiveEndpoint) -> str:
    """Its calls end soon, and wait for loads as long as a busy machine takes."""
    put(live.folder("hurried"), {"good.json": booster(), "hanging.tar.gz": script(HANGING)})
    return live.deploy("Hurried", Variant(many("hurried", {"TORPOR_INVOCATION_TIMEOUT_SECONDS": "1.5"})))


Slow = Callable[[str], Path]


@pytest.fixture
def slow(live: LiveEndpoint, tmp_path: Path) -> Iterator[Slow]:
    """Makes a model that loads once a test writes to the returned pipe."""
    pipes: list[Path] = []

    def made(name: str) -> Path:
        pipe = tmp_path / name
        os.mkfifo(pipe)
        pipes.append(pipe)
        put(live.folder("brief"), {f"{name}.tar.gz": script(SLOW.format(pipe=str(pipe)))})
        return pipe

    yield made
    for pipe in pipes:  # nobody is left waiting at its other end
        os.close(os.open(pipe, os.O_RDWR | os.O_NONBLOCK))


def test_a_load_that_outlasts_its_caller_continues_and_the_next_call_joins_it(
    live: LiveEndpoint, brief: str, slow: Slow
) -> None:
    pipe = slow("patient")
    early = refusal(lambda: live.invoke(brief, ROW, TargetModel="patient.tar.gz"))
    assert code_and_status(early) == ("ModelNotReadyException", 429)
    assert "still downloading or loading after 0.5 s" in early["Error"]["Message"]
    with ThreadPoolExecutor() as pool:
        with pipe.open("w") as loading:  # once the load reads it
            joining = pool.submit(live.invoke, brief, ROW, TargetModel="patient.tar.gz")
            loading.write("loaded once")
        answer = joining.result()
    assert answer["Body"] == b"loaded once"
    assert "download" not in steps_of(answer)  # the first call's load, not one of its own


def test_a_call_that_times_out_gets_the_steps_that_it_waited_for(live: LiveEndpoint, brief: str, slow: Slow) -> None:
    slow("eager")
    steps = steps_of(refusal(lambda: live.invoke(brief, ROW, TargetModel="eager.tar.gz")))
    assert steps["load"] > 300 > steps.get("queue", 0.0)
    assert sum(steps.values()) == pytest.approx(500, rel=0.3)


TRIES_MAX = 40 * WALL_MULTIPLE
"""The limit of a load counts quiet time: on a busy machine it comes later."""


@pytest.mark.thorough
def test_a_load_over_its_own_limit_is_the_models_error(live: LiveEndpoint, brief: str, slow: Slow) -> None:
    slow("endless")
    answers: list[Any] = []
    while not answers or (answers[-1]["Error"]["Code"] == "ModelNotReadyException" and len(answers) < TRIES_MAX):
        answers.append(refusal(lambda: live.invoke(brief, ROW, TargetModel="endless.tar.gz")))
    failed = answers[-1]  # whoever waits as the limit is reached; the others are told to come again
    assert len(answers) > 1
    assert failed["Error"]["Code"] == "ModelError"
    # the script and who waits for it have the same limit, each by its own clock
    assert failed["OriginalMessage"] in {f"{who} did not load within 3 s" for who in ("endless.tar.gz", "the script")}


def test_a_model_that_hangs_is_aws_s_timeout_and_the_others_answer_meanwhile(
    live: LiveEndpoint, hurried: str, tmp_path: Path
) -> None:
    inside = tmp_path / "inside"
    os.mkfifo(inside)
    live.invoke(hurried, ROW, TargetModel="good.json")
    with ThreadPoolExecutor() as pool:
        hanging = pool.submit(refusal, lambda: live.invoke(hurried, str(inside).encode(), TargetModel="hanging.tar.gz"))
        inside.open().close()  # returns when the script is at work
        meanwhile = 0
        while not hanging.done() and meanwhile < 1000:
            assert json.loads(live.invoke(hurried, ROW, TargetModel="good.json")["Body"]) == [
                pytest.approx(predicted())
            ]
            meanwhile += 1
        response = hanging.result()
    assert meanwhile > 2  # a busy machine does fewer than it could
    assert code_and_status(response) == ("ModelError", 424)
    assert response["OriginalStatusCode"] == 0
    assert response["OriginalMessage"] == (
        "Your invocation timed out while waiting for a response from container primary. "
        "Review the latency metrics for each container in Amazon CloudWatch, resolve the issue, and try again."
    )


def test_a_call_that_waits_behind_a_hanging_call_is_answered(live: LiveEndpoint, hurried: str, tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    os.mkfifo(inside)
    opened = threading.Thread(target=lambda: inside.open().close(), daemon=True)
    opened.start()

    def call(_: int) -> dict[str, Any]:
        return refusal(lambda: live.invoke(hurried, str(inside).encode(), TargetModel="hanging.tar.gz"))

    with ThreadPoolExecutor() as pool:
        answers = list(pool.map(call, range(3)))
    assert {code_and_status(answer) for answer in answers} == {("ModelError", 424)}
