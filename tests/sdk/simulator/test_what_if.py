"""The dashboard's "what if" on a ledger that the endpoint's own code wrote."""

import json
import subprocess
import sys
import time

import pytest

from torpor.simulator.ledger_scenario import set_up
from torpor.simulator.scenario import BadScenario, Scenario
from torpor.simulator.what_if import answered, other_ways
from torpor.workloads import BadTrace
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_container.typed_json import read, written
from torpor_container.wire import ColdLoad
from torpor_endpoint.core.ledger import Sums, UseKey, is_cold, minute_of
from torpor_endpoint.core.ledger_records import InvocationRecord
from torpor_endpoint.core.pages.what_if import WhatIfAnswer, WhatIfQuestion
from torpor_endpoint.core.variant_setup import VariantSetup
from torpor_endpoint.ledger.ledger_schema import LEDGER
from torpor_endpoint.ledger.row_batch import Batch
from torpor_endpoint.ledger.tables import Tables

MIB = 1024**2
MODELS = 8
MODEL_BYTES = 4 * MIB
AGO_S = 3600.0


@pytest.fixture(scope="module")
def question(tmp_path_factory: pytest.TempPathFactory) -> WhatIfQuestion:
    """An hour ago, eight models were called in turns for two minutes."""
    path = tmp_path_factory.mktemp("ledger") / "ledger.sqlite"
    since_s = minute_of(time.time() - AGO_S)
    batch = Batch()
    for number in range(240):
        cold = number < MODELS
        steps = {"download": 0.001, "load": 0.02, "predict": 0.002} if cold else {"predict": 0.002}
        load = ColdLoad(bytes=MODEL_BYTES, victims=[], reason="first use", took_s=0.021, efforts={}) if cold else None
        total_s = sum(steps.values())
        model = f"m{number % MODELS}"
        one = InvocationRecord(since_s + number / 2, "r", "e", "v", model, "i", 200, steps, total_s, 100, 5, load)
        key = UseKey(minute_of(one.at_s), "e", "v", model, "ml.m5.large")
        batch.minutes.setdefault(key, Sums()).add(one, is_cold(one.steps))
        if cold:
            batch.cold_starts.append(one)
    tables = Tables(SqliteFile(path, LEDGER))
    tables.write(batch, since_s + 120)
    tables.close()
    return WhatIfQuestion(str(path), "e", "v", 24 * AGO_S)


def test_every_way_is_shown_beside_what_is_now(question: WhatIfQuestion) -> None:
    found = answered(question)
    assert found.requests == 240
    assert [row.way for row in found.rows] == [
        "as it is now",
        "half the memory",
        "twice the memory",
        "asleep after 5 minutes without a request",
        "AWS's serverless inference, an endpoint per model",
    ]
    assert [row.trouble for row in found.rows] == [""] * 5
    now, *_, serverless = found.rows
    assert now.hit_ratio == pytest.approx(1 - MODELS / 240)
    assert serverless.p99_s is not None
    assert serverless.p99_s > 1.0  # it wakes


def test_the_settings_of_the_variant_are_those_of_the_scenario() -> None:
    setup = VariantSetup(True, 1, 0, 3, settings={"TORPOR_POLICY": "GDSF", "TORPOR_IDLE_SECONDS": "7"})
    scenario = set_up(Scenario(memory_mib=1024.0), setup)
    assert (scenario.policy, scenario.idle_s, scenario.instances_min, scenario.instances_max) == ("GDSF", 7.0, 0, 3)
    assert scenario.memory_mib == 1024.0


@pytest.mark.parametrize(
    ("now", "half", "twice"),
    [
        (Scenario("ml.m5.large"), ("ml.t2.medium", 4096.0), ("ml.m5.xlarge", 16384.0)),
        (Scenario("ml.m5.large", memory_mib=512.0), ("ml.m5.large", 256.0), ("ml.m5.large", 1024.0)),
    ],
)
def test_other_memory_is_a_setting_where_it_was_one_and_else_another_type(
    now: Scenario, half: tuple[str, float], twice: tuple[str, float]
) -> None:
    fewer, more, _ = (way.change(now) for way in other_ways(now))
    assert (fewer.instance_type, fewer.instance_mib) == half
    assert more.instance_mib == twice[1]
    assert fewer.own_bytes == now.own_bytes


def test_a_variant_that_sleeps_is_shown_awake() -> None:
    sleeper = Scenario(instances_min=0, instances_max=2)
    *_, awake = other_ways(sleeper)
    assert (awake.way, awake.change(sleeper).instances_min) == ("always awake", 1)


def test_memory_that_leaves_nothing_for_models_is_refused() -> None:
    half, *_ = other_ways(Scenario(memory_mib=30.0))
    with pytest.raises(BadScenario):
        half.change(Scenario(memory_mib=30.0))


def test_the_module_answers_on_its_output(question: WhatIfQuestion) -> None:
    command = [sys.executable, "-m", "torpor.simulator.what_if"]
    asked = json.dumps(written(question))
    done = subprocess.run(command, input=asked, capture_output=True, text=True, check=True, timeout=60)
    assert read(WhatIfAnswer, json.loads(done.stdout)) == answered(question)
    lost = json.dumps({**written(question), "endpoint": "other"})
    failed = subprocess.run(command, input=lost, capture_output=True, text=True, timeout=60)
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "no requests to other/v" in failed.stderr


def test_an_older_day_is_left_out(question: WhatIfQuestion) -> None:
    with pytest.raises(BadTrace, match="no requests"):
        answered(WhatIfQuestion(question.ledger, "e", "v", AGO_S / 2))
