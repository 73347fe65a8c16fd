"""The containers of a pipeline, fitted to a ledger with known times, and simulated again."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

import torpor
from tests.helpers.ledger_with_pages import NOON_S, LedgerWithPages, invocation, life
from torpor.simulator.engine.call_records import SimulatedCall
from torpor.simulator.fitting import Fitted, fitted
from torpor.simulator.fitting.fitted_pipeline import SINGLES_MIN
from torpor.simulator.scenario import Scenario
from torpor.simulator.simulation_inputs import load
from torpor.simulator.simulation_run import run
from torpor.workloads import LedgerFile, zipf
from torpor.workloads.profile import ContainerProfile, ModelProfile
from torpor_container.wire import ColdLoad
from torpor_endpoint.core.ledger_records import InvocationRecord, MemoryReading, WarmRequests

MIB = 1024 * 1024
CLEAN_S, RANK_S, OVERHEAD_S, LOAD_S = 0.004, 0.016, 0.001, 0.25
PREDICTS_S = {"a": 0.008, "b": 0.032, "c": 0.008}
SIZE = "ml.m5.large"


def cold(model: str, at_s: float, predict_s: float, after: bool = True) -> InvocationRecord:
    """The request that loads a model. Its `predict` is the sum over the containers."""
    passed = {"clean": CLEAN_S, "houses": LOAD_S + predict_s} | ({"rank": RANK_S} if after else {})
    predict = predict_s + CLEAN_S + (RANK_S if after else 0.0)
    steps = {"load": LOAD_S, "queue": 0.0, "predict": predict, "overhead": OVERHEAD_S}
    load = ColdLoad(bytes=MIB, victims=[], reason="first use", took_s=LOAD_S, efforts={})
    return invocation(at_s, steps, model=model, cold=load)._replace(container_s=passed)


def warm(model: str, at_s: float, requests: int) -> WarmRequests:
    predict_s = PREDICTS_S[model] + CLEAN_S + RANK_S
    passed = {
        name: requests * seconds
        for name, seconds in (("clean", CLEAN_S), ("houses", PREDICTS_S[model]), ("rank", RANK_S))
    }
    times = [predict_s + OVERHEAD_S] * requests, [predict_s] * requests
    return WarmRequests(at_s, "houses", "v", model, "i-1", *times, 5, 5, (at_s, at_s + 1.0), passed)


def memory(container: str, own_mib: int) -> MemoryReading:
    return MemoryReading(NOON_S, "houses", "v", "i-1", 4096 * MIB, own_mib * MIB, container=container)


def written(
    folder: Path, requests: Iterable[InvocationRecord | WarmRequests], readings: Iterable[MemoryReading] = ()
) -> Path:
    recorded = LedgerWithPages(folder)
    recorded.ledger.lived(life(NOON_S - 5, size=SIZE))
    for one in requests:
        if isinstance(one, WarmRequests):
            recorded.ledger.warmed(one)
        else:
            recorded.ledger.invoked(one)
    for reading in readings:
        recorded.ledger.looked(reading)
    recorded.ledger.close()
    return folder / "ledger.sqlite"


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    colds = [cold(model, NOON_S + number, PREDICTS_S[model]) for number, model in enumerate(PREDICTS_S)]
    warms = [warm(model, NOON_S + 60 + number, 10) for number, model in enumerate(PREDICTS_S)]
    return written(tmp_path, [*colds, *warms], [memory("clean", 100), memory("houses", 30), memory("rank", 50)])


def containers(found: Fitted) -> list[tuple[str, bool, int, float]]:
    return [(one.name, one.models, one.memory_bytes // MIB, round(one.predict_s, 9)) for one in found.containers]


def test_the_containers_have_the_times_and_the_memory_of_the_ledger(ledger: Path) -> None:
    found = fitted(ledger)
    assert containers(found) == [("clean", False, 100, CLEAN_S), ("houses", True, 0, 0.0), ("rank", False, 50, RANK_S)]
    assert {name: round(one.predict_s, 9) for name, one in found.profiles.items()} == PREDICTS_S
    assert found.overhead_s == pytest.approx(OVERHEAD_S)
    assert {one.load_s for one in found.profiles.values()} == {LOAD_S}
    assert found.memory is not None
    assert (found.memory.budget_bytes, found.memory.own_bytes) == (4096 * MIB, 30 * MIB)
    assert [row["figure"] for row in found.explain()][7:9] == ["in clean", "in rank"]


def test_the_simulation_of_a_recorded_pipeline_is_one_of_a_pipeline(ledger: Path) -> None:
    inputs = load(LedgerFile(ledger))
    assert inputs.scenario.models_bytes == (4096 - 100 - 30 - 50) * MIB
    result = torpor.simulate(LedgerFile(ledger))
    assert [one.container for one in result.containers] == ["clean", "houses", "rank"]
    assert result.containers[0].latencies.quantile(0.5) == pytest.approx(CLEAN_S, rel=0.005)
    assert result.warm_latencies.least_s == pytest.approx(OVERHEAD_S + CLEAN_S + PREDICTS_S["a"] + RANK_S)
    alone = torpor.simulate(LedgerFile(ledger), containers=())
    assert alone.containers == ()
    assert alone.p50_s < result.p50_s


def test_the_container_with_the_models_is_the_one_that_takes_longer_when_one_is_loaded(tmp_path: Path) -> None:
    last = [cold(model, NOON_S + number, 0.008, after=False) for number, model in enumerate("abc")]
    assert containers(fitted(written(tmp_path, last)))[1][:2] == ("houses", True)


def test_a_container_whose_memory_was_not_read_is_named(tmp_path: Path) -> None:
    file = written(tmp_path, [cold(model, NOON_S, 0.008) for model in "abc"], [memory("clean", 100)])
    assert fitted(file).unread == ("rank",)
    assert "the memory of rank: none, since the ledger has no reading of it" in load(LedgerFile(file)).assumed


def test_a_pipeline_of_single_models_has_the_time_of_the_last_one_in_its_profile(tmp_path: Path) -> None:
    passed = {"clean": CLEAN_S, "houses": 0.064}
    steps = {"wake": 1.0, "predict": CLEAN_S + 0.064, "overhead": OVERHEAD_S}
    file = written(tmp_path, [invocation(NOON_S, steps, model="")._replace(container_s=passed)])
    found = fitted(file)
    assert found.containers == (ContainerProfile("clean", 0, CLEAN_S), ContainerProfile("houses", models=True))
    assert found.profiles["v"].predict_s == pytest.approx(0.064)
    assert (found.profiles["v"].memory_bytes, found.wake_s) == (0, 1.0)


def test_a_variant_that_became_a_pipeline_is_fitted_as_its_newest_one(tmp_path: Path) -> None:
    before = invocation(NOON_S, {"predict": 0.5}, model="a")
    other = cold("b", NOON_S + 60, 0.008)._replace(container_s={"old": 0.5, "houses": 0.3})
    newest = [cold(model, NOON_S + 120, PREDICTS_S[model]) for model in PREDICTS_S]
    found = fitted(written(tmp_path, [before, other, *newest]))
    assert [one.name for one in found.containers] == ["clean", "houses", "rank"]


def test_single_times_known_one_by_one_give_a_container_its_spread(tmp_path: Path) -> None:
    rows = [cold("abc"[number % 3], NOON_S + number / 10, 0.008) for number in range(400)]
    factors = np.exp(np.random.default_rng(1).normal(0.0, 0.3, len(rows)))
    varied = [
        row._replace(container_s={**row.container_s, "clean": CLEAN_S * factor, "rank": RANK_S * waits})
        for row, factor, waits in zip(rows, factors.tolist(), [1.0, 1.0, 1.0, 3.0] * 100, strict=True)
    ]
    clean, _, rank = fitted(written(tmp_path, varied)).containers
    assert clean.predict_sigma == pytest.approx(0.3, abs=0.03)
    assert rank.predict_sigma == 0.0  # only some requests took longer, and these waited


def test_fewer_single_times_give_no_spread(tmp_path: Path) -> None:
    rows = [cold("abc"[number % 3], NOON_S + number, 0.008) for number in range(SINGLES_MIN - 1)]
    varied = [row._replace(container_s={**row.container_s, "clean": 0.001 * (1 + row.at_s % 7)}) for row in rows]
    assert fitted(written(tmp_path, varied)).containers[0].predict_sigma == 0.0


def recorded_call(call: SimulatedCall, of: ModelProfile) -> InvocationRecord:
    """A simulated request as the ledger has it."""
    predict_s = call.spent_s[0] + of.predict_s + call.spent_s[2]
    brought = {} if call.hit else {"download": of.download_s, "unpack": of.unpack_s, "load": of.load_s}
    waited_s = max(0.0, call.done_s - call.arrived_s - predict_s - sum(brought.values()))
    steps = {**brought, "queue": waited_s, "predict": predict_s, "overhead": OVERHEAD_S}
    load = ColdLoad(bytes=of.memory_bytes, victims=[], reason="", took_s=sum(brought.values()), efforts={})
    row = invocation(NOON_S + call.arrived_s, steps, model=call.model, cold=None if call.hit else load)
    return row._replace(container_s=dict(zip(("clean", "houses", "rank"), call.spent_s, strict=True)))


def test_a_simulated_pipeline_in_a_ledger_is_simulated_alike_again(tmp_path: Path) -> None:
    trace = zipf(models=40, rate_hz=8, duration_s=300, seed=3)
    known = {
        name: ModelProfile(name, (5 + number % 7) * MIB, MIB, 0.01, 0.02, 0.1, 0.001, 0.004 + 0.001 * (number % 5))
        for number, name in enumerate(trace.names)
    }
    pipeline = (
        ContainerProfile("clean", 100 * MIB, 0.005, predict_sigma=0.3),
        ContainerProfile("houses", models=True),
        ContainerProfile("rank", 50 * MIB, 0.003),
    )
    calls: list[SimulatedCall] = []
    first = run(load(trace, known), Scenario(containers=pipeline, overhead_s=OVERHEAD_S), listener=calls.extend)
    rows = [recorded_call(call, known[call.model]) for call in calls]
    inputs = load(LedgerFile(written(tmp_path, rows, [memory("clean", 100), memory("houses", 20), memory("rank", 50)])))
    again = run(inputs, inputs.scenario)
    assert again.requests == first.requests
    assert again.hit_ratio == pytest.approx(first.hit_ratio, abs=0.01)
    assert again.p50_s == pytest.approx(first.p50_s, rel=0.02)
    for one, other in zip(first.containers, again.containers, strict=True):
        assert one.container == other.container
        assert other.latencies.quantile(0.5) == pytest.approx(one.latencies.quantile(0.5), rel=0.03)


def test_a_container_that_is_a_script_answers_by_its_workers_and_one_of_which_nothing_is_known_is_named(
    tmp_path: Path,
) -> None:
    told = [memory("clean", 100)._replace(workers=2), memory("houses", 30), memory("rank", 50)]
    file = written(tmp_path, [cold(model, NOON_S, 0.008) for model in "abc"], told)
    found = fitted(file)
    assert [one.workers for one in found.containers] == [2, 0, 0]
    assert found.unworked == ("a", "b", "c", "rank")
    assert any("what answers the requests of 4 models" in note for note in load(LedgerFile(file)).assumed)
