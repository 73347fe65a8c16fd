"""`Server-Timing` on every answer: the steps of the request add up to its wall time."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import ROW, booster, put, script
from tests.endpoint.services.helpers.runtime_answers import refusal, steps_of
from tests.helpers.waiting import until

SLEEPING = """
import time
from concurrent.futures import ThreadPoolExecutor
time.sleep(0.2)
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept):
    time.sleep(0.3)
    return "awake", "text/plain"
"""


@pytest.fixture(scope="module")
def timed(live: LiveEndpoint) -> str:
    put(live.folder("timed"), {"good.json": booster(), "sleeping.tar.gz": script(SLEEPING)})
    return live.deploy("Timed", Variant(many("timed")))


def test_a_cold_call_names_every_step_and_they_add_up(live: LiveEndpoint, timed: str) -> None:
    began_s = time.perf_counter()
    steps = steps_of(live.invoke(timed, ROW, TargetModel="sleeping.tar.gz"))
    wall_ms = (time.perf_counter() - began_s) * 1000  # with what the client takes, which may be long
    assert steps.keys() == {"download", "unpack", "load", "queue", "predict", "overhead"}
    assert steps["load"] > 200
    assert steps["predict"] > 300
    assert sum(steps.values()) <= wall_ms
    assert "add up to" not in live.output()  # as the ledger says where they do not


def test_a_warm_call_waits_for_nothing_but_its_prediction(live: LiveEndpoint, timed: str) -> None:
    live.invoke(timed, ROW, TargetModel="good.json")
    assert steps_of(live.invoke(timed, ROW, TargetModel="good.json")).keys() == {"predict", "overhead"}


def test_a_call_that_joins_a_load_shows_only_its_own_share_of_it(live: LiveEndpoint, timed: str) -> None:
    put(live.folder("timed"), {"shared.tar.gz": script(SLEEPING.replace("0.3", "0"))})

    def call(_: int) -> dict[str, float]:
        return steps_of(live.invoke(timed, ROW, TargetModel="shared.tar.gz"))

    with ThreadPoolExecutor(4) as pool:
        began_s = time.perf_counter()
        shares = list(pool.map(call, range(4)))
    wall_ms = (time.perf_counter() - began_s) * 1000
    assert all(steps["load"] > 0 and sum(steps.values()) <= wall_ms for steps in shares)


FAILING: dict[str, dict[str, Any]] = {
    "unknown endpoint": {"endpoint": "Nowhere"},
    "no target": {},
    "no such model": {"TargetModel": "none.json"},
    "forbidden": {"TargetModel": "../none.json"},
    "bad body": {"TargetModel": "good.json", "body": b"x"},
}


@pytest.mark.parametrize("call", FAILING.values(), ids=FAILING.keys())
def test_an_error_shows_its_time_too(live: LiveEndpoint, timed: str, call: dict[str, Any]) -> None:
    arguments = {"endpoint": timed, "body": ROW, **call}
    began_s = time.perf_counter()
    steps = steps_of(refusal(lambda: live.invoke(**arguments)))
    assert 0 < sum(steps.values()) <= (time.perf_counter() - began_s) * 1000
    assert "overhead" in steps


def test_a_call_that_wakes_its_variant_shows_how_long_that_took(live: LiveEndpoint, timed: str) -> None:
    less = {"ServerlessConfig": {"MemorySizeInMB": 1024, "MaxConcurrency": 5}}
    live.deploy("Woken", Variant(many("timed", {"TORPOR_IDLE_SECONDS": "0.1"}), members=less))
    until(lambda: live.shown("Woken")[0]["wanted"] == 0)
    steps = steps_of(live.invoke("Woken", ROW, TargetModel="good.json"))
    assert steps["wake"] > 1
