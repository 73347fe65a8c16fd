"""`torpor.simulate`: one seed is one story, in any process; files and objects give the same result; an error names its
cause; and memory does not grow with the trace."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import torpor
from tests.helpers.ledger_with_pages import ALWAYS_ON, LedgerWithPages, invocation
from tests.helpers.memory import peak_bytes
from torpor.simulator.fitting import write as write_profiles
from torpor.simulator.scenario import BadScenario, Scenario
from torpor.simulator.simulation_inputs import SimulationInputs, Spreads, drawn_anew, load
from torpor.simulator.simulation_result import SimulationResult
from torpor.simulator.simulation_run import DecisionDigest, recounted, run, simulate
from torpor.workloads import (
    Azure2019,
    BadTrace,
    Chunk,
    First,
    LedgerFile,
    Paced,
    Synthetic,
    TimedTrace,
    recorded,
    write,
    zipf,
)
from torpor.workloads.profile import ModelProfile
from torpor_container.wire import ColdLoad
from torpor_endpoint.core.pricing.quotes import PROVISIONED
from torpor_endpoint.core.resource_records import Serverless

MIB = 1024 * 1024
SINCE_S = 1_700_000_040.0
"""A whole minute that is over."""
TIGHT = Scenario(memory_bytes=500 * 1000**2, policy="GDSF", instances_min=0, instances_max=2, idle_s=30.0)
TEXT = "zipf:models=40,rate_hz=4,duration_s=200,gaps=bursty"
STORY = f"""
from torpor.simulator.simulation_inputs import load, Spreads
from torpor.simulator.simulation_run import DecisionDigest, run
from torpor.simulator.scenario import Scenario
digest = DecisionDigest()
run(load({TEXT!r}, seed=3, spreads=Spreads(0.3, 0.3, 0.3)), {TIGHT!r}, digest)
print(digest.decisions, digest.hex)
"""


def told(seed: int, spreads: Spreads | None = None) -> DecisionDigest:
    digest = DecisionDigest()
    run(load(TEXT, seed=seed, spreads=spreads), TIGHT, digest)
    return digest


def figures(result: SimulationResult) -> Mapping[str, object]:
    return {**result.summary(), "seed": 0, "timeline": {name: one.tolist() for name, one in result.timeline.items()}}


def unit(names: Sequence[str], size_bytes: int = MIB) -> dict[str, ModelProfile]:
    return {name: ModelProfile(name, size_bytes, size_bytes) for name in names}


# -- seeds -------------------------------------------------------------------------------------------------------------
def test_a_seed_is_one_story_in_other_processes_with_other_hashes_too() -> None:
    here = told(3, Spreads(0.3, 0.3, 0.3))
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        there = subprocess.run(
            [sys.executable, "-c", STORY], env=environment, capture_output=True, text=True, check=True
        )
        assert there.stdout.split() == [str(here.decisions), here.hex]
    assert here.decisions > 200


def test_another_seed_is_another_story() -> None:
    assert len({told(seed).hex for seed in (0, 1, 2)}) == 3


def test_a_different_seed_draws_other_single_times_even_if_all_else_is_given() -> None:
    trace = recorded((float(number), "abc"[number % 3]) for number in range(60))
    taken = [simulate(trace, unit("abc"), seed=seed, spreads=Spreads(0.5)).p99_s for seed in (0, 1)]
    assert taken[0] != taken[1]
    assert load(trace, unit("abc"), spreads=Spreads(0.5)).drawn
    assert not load(trace, unit("abc")).drawn


def test_a_trace_given_as_an_object_keeps_its_seed_until_it_is_reseeded() -> None:
    trace = zipf(20, 1.0, 4.0, 100.0, seed=7)
    given = load(trace, unit(trace.names), seed=2)
    assert given.trace is trace
    assert load("zipf:models=20,seed=7", seed=2).trace.seed == 9  # type: ignore[attr-defined]  # of a made one
    assert given.reseeded(5).trace.seed == given.reseeded(3).reseeded(5).trace.seed == 10  # type: ignore[attr-defined]


@pytest.mark.parametrize("trace", [LedgerFile(Path("x.sqlite")), Azure2019([Path("x.csv")], seed=3), zipf(2, seed=4)])
def test_drawn_traffic_is_drawn_again_for_another_seed(trace: LedgerFile | Azure2019 | Synthetic) -> None:
    again = drawn_anew(trace, 2)
    assert isinstance(again, type(trace))
    assert again.seed == trace.seed + 2
    assert drawn_anew(trace, 0) is trace


def test_a_trace_recorded_to_the_moment_is_never_drawn_again() -> None:
    paced = Paced(recorded([(0.0, "a")]))
    assert drawn_anew(paced, 5) is paced


def test_the_first_part_of_a_trace_is_drawn_again_with_it() -> None:
    given = replace(load(TEXT), trace=First(Paced(load(TEXT).trace), 50))
    again = given.reseeded(1)
    times_s = [np.concatenate([chunk.times_s for chunk in one.trace.chunks()]).tolist() for one in (given, again)]
    assert [len(one) for one in times_s] == [50, 50]
    assert times_s[0] != times_s[1]
    assert given.profiles != again.profiles


# -- what is given -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["trace.csv", "trace.csv.gz"])
def test_a_trace_is_the_same_as_object_and_as_file(tmp_path: Path, name: str) -> None:
    trace = zipf(30, 1.0, 5.0, 120.0, seed=4)
    write(trace, tmp_path / name)
    profiles = load(trace).profiles
    results = [simulate(given, profiles, TIGHT) for given in (trace, tmp_path / name, str(tmp_path / name))]
    assert figures(results[0]) == figures(results[1]) == figures(results[2])
    assert [one.trace for one in results] == ["Zipf 1.0 over 30 models at 5/s", *([str(tmp_path / name)] * 2)]


def test_profiles_are_the_same_as_object_and_as_file(tmp_path: Path) -> None:
    given = load(TEXT)
    write_profiles(given.profiles, tmp_path / "models.csv")
    results = [simulate(TEXT, profiles, TIGHT) for profiles in (given.profiles, tmp_path / "models.csv")]
    assert figures(results[0]) == figures(results[1]) == figures(run(given, TIGHT))
    assert [one.assumed for one in results] == [(), ()]
    assert "drawn from the distributions" in run(given, TIGHT).assumed[0]


def test_fields_of_the_scenario_may_be_given_by_name() -> None:
    trace = recorded([(0.0, "a"), (1.0, "a")])
    assert simulate(trace, unit("a"), instances=2).scenario == Scenario(instances=2)
    assert simulate(trace, unit("a"), TIGHT, policy="LRU").scenario == TIGHT.altered(policy="LRU")
    assert torpor.simulate(trace, unit("a")).requests == 2


def test_overheads_are_added_to_the_time_of_the_instances() -> None:
    trace = recorded([(0.0, "a"), (9.0, "a")])
    plain, more = simulate(trace, unit("a")), simulate(trace, unit("a"), overhead_s=2.0, beside_load_s=30.0)
    assert more.warm_latencies.most_s - plain.warm_latencies.most_s == pytest.approx(2.0)
    assert more.cold_latencies.most_s - plain.cold_latencies.most_s == pytest.approx(32.0)
    assert more.duration_s == plain.duration_s


def test_a_trace_lasts_for_the_given_time_or_for_its_synthetic_one() -> None:
    calls, made = recorded([(50.0, "a"), (59.0, "a")]), zipf(3, rate_hz=0.1, duration_s=1000.0)
    assert simulate(calls, unit("a"), lasts_s=60.0).duration_s == 60.0
    assert simulate(made).duration_s == 1000.0
    assert torpor.plan(made, unit(made.names), slo_s=5.0, requests_max=10, seeds=1).candidates[0].result is not None
    for lasts_s, told in (
        (5.0, "has a request 9 s after its first one, .* give a longer time"),
        (0.0, "lasts_s is more than 0, not 0.0"),
    ):
        with pytest.raises(BadTrace, match=told):
            simulate(calls, unit("a"), lasts_s=lasts_s)


def test_the_first_requests_of_a_trace_do_not_include_its_quiet_end() -> None:
    calls = TimedTrace(recorded([(float(second), "a") for second in range(10)]), 1000.0)
    durations_s = [simulate(First(calls, count), unit("a")).duration_s for count in (5, 10)]
    assert durations_s == [pytest.approx(4.0, abs=2.0), 1000.0]


def test_a_load_slows_the_predictions_beside_it_where_they_share_a_processor() -> None:
    profiles = {name: ModelProfile(name, MIB, MIB, 0.0, 0.0, 1.0, 0.0, 1.0) for name in "ab"}
    trace = recorded([(0.0, "a"), (10.0, "a"), (10.0, "b")])

    def took_s(processors: int) -> list[float]:
        calls: list[float] = []
        given = SimulationInputs(trace, profiles, Spreads(), 0, "a trace")
        scenario = Scenario(threads=2, processors=processors)
        run(given, scenario, listener=lambda ended: calls.extend(call.done_s - call.arrived_s for call in ended))
        return calls

    assert took_s(processors=2) == pytest.approx([2.0, 1.0, 2.0])
    assert took_s(processors=1) == pytest.approx([2.0, 2.0, 3.0])


def test_the_offline_reference_misses_no_more_than_any_live_policy() -> None:
    trace = zipf(30, 0.8, 5.0, 200.0, seed=1)
    instant = {name: ModelProfile(name, MIB, MIB, 0.0, 0.0, 0.0, 0.0, 0.0) for name in trace.names}
    cold = {
        name: simulate(trace, instant, memory_bytes=8 * MIB, policy=name).cold for name in ("belady", "LRU", "GDSF")
    }
    assert cold["belady"] < min(cold["LRU"], cold["GDSF"])


# -- ledgers -----------------------------------------------------------------------------------------------------------
def ledger(folder: Path, *endpoints: str, set_up_s: float = SINCE_S) -> Path:
    """Of each: a wake of 0.5 s, three loads of 0.2 s, and warm requests of 30 ms, of which 10 ms are not predicting."""
    written = LedgerWithPages(folder, now_s=set_up_s)
    for endpoint in endpoints:
        written.ledger.set_up(endpoint, ALWAYS_ON)
        for number, model in enumerate("abc"):
            steps = {"wake": 0.5, "load": 0.2, "queue": 0.0, "predict": 0.02, "overhead": 0.01}
            cold = ColdLoad(bytes=MIB, victims=[], reason="first use", took_s=0.2, efforts={}, workers=0)
            written.ledger.invoked(invocation(SINCE_S + number, steps, model=model, endpoint=endpoint, cold=cold))
        for number in range(30):
            steps = {"predict": 0.02, "overhead": 0.01}
            written.ledger.invoked(invocation(SINCE_S + 60 + number, steps, model="abc"[number % 3], endpoint=endpoint))
    written.ledger.close()
    return folder / "ledger.sqlite"


def test_a_ledger_is_simulated_with_its_own_measurements(tmp_path: Path) -> None:
    result = simulate(ledger(tmp_path, "houses"))
    assert (result.requests, result.cold, result.assumed) == (33, 3, ())
    assert (result.scenario.overhead_s, result.scenario.wake_s) == pytest.approx((0.01, 0.5))
    assert result.p50_s == pytest.approx(0.03, rel=0.01)
    assert load(tmp_path / "ledger.sqlite").drawn  # the moments of warm requests within their minutes


def test_refused_requests_of_a_ledger_are_left_out_and_the_result_says_so(tmp_path: Path) -> None:
    written = LedgerWithPages(tmp_path)
    for number in range(4):
        wrong = {"download": 0.003, "overhead": 0.001}
        written.ledger.invoked(invocation(SINCE_S + 80 + number, wrong, model=f"typo-{number % 2}", status=400))
    written.ledger.close()
    told = "4 requests for 2 names that only ever got errors: left out, since these names are no models"
    path = ledger(tmp_path, "houses")
    for profiles in (None, unit("abc")):
        result = simulate(path, profiles)
        assert (result.requests, result.cold, result.assumed) == (33, 3, (told,))


def test_a_ledger_tells_that_an_update_changed_its_variant_and_what_its_answers_weigh(tmp_path: Path) -> None:
    result = simulate(ledger(tmp_path, "houses", set_up_s=SINCE_S + 60))
    (note,) = result.assumed
    assert note.startswith("how the variant was set up: as at last, for all of its requests")
    assert result.served.moved_bytes == 33 * (100 + 50)


def test_provisioned_concurrency_keeps_an_instance_awake_and_its_time_is_billed() -> None:
    calls, profiles = recorded([(600.0 * number, "a") for number in range(10)]), unit("a")
    on_demand = simulate(calls, profiles, serverless=Serverless(1024, 5), idle_s=60.0)
    kept = simulate(calls, profiles, serverless=Serverless(1024, 5, provisioned_concurrency=1), idle_s=60.0)
    assert (on_demand.wakes, on_demand.cold) == (10, 10)
    assert (kept.wakes, kept.cold) == (0, 1)
    assert kept.instance_s == pytest.approx(kept.duration_s)
    quantities = {line.item: line.quantity for line in kept.cost().bill.lines}
    assert quantities[PROVISIONED] == pytest.approx(kept.duration_s)


def test_requests_beyond_the_max_concurrency_fail_and_reach_no_instance() -> None:
    burst = recorded([(0.0, "a")] * 8 + [(100.0, "a")])
    result = simulate(burst, unit("a"), serverless=Serverless(1024, 5))
    assert (result.requests, result.throttled, result.failed, result.warm + result.cold) == (9, 3, 3, 6)
    inputs = load(burst, unit("a"))
    again = recounted(inputs, Scenario(serverless=Serverless(1024, 5)))
    assert again.throttled == 3, "the counters agree with the log"


def test_a_variant_of_a_ledger_is_named_behind_the_file(tmp_path: Path) -> None:
    path = ledger(tmp_path, "houses", "flats")
    assert simulate(f"{path}#flats/v").requests == simulate(f"{path}#houses").requests == 33
    with pytest.raises(BadTrace, match="several variants: name one of flats/v, houses/v, as in"):
        simulate(path)
    with pytest.raises(BadTrace, match="has no requests to boats"):
        simulate(f"{path}#boats")


# -- what is bad -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("time_s,model\n0,a\n5,b\n2,a\n", r"trace\.csv: row 3: time 2\.0 is earlier than the row before it: sort"),
        ("time_s,model,bytes\n0,a,5\n1,a,-3\n", r"trace\.csv: row 2: a size of -3 bytes is negative"),
        ("time_s,model,colour\n0,a,red\n", r"trace\.csv: column 'colour' is unknown"),
        ("time_s,model\nnoon,a\n", r"trace\.csv: row 1: time 'noon' is neither a number of seconds"),
        ("time_s,model\n", r"trace\.csv has no requests"),
        ("", r"trace\.csv is empty"),
    ],
)
def test_a_bad_trace_is_named_with_its_row_or_column(tmp_path: Path, rows: str, said: str) -> None:
    (tmp_path / "trace.csv").write_text(rows)
    with pytest.raises(BadTrace, match=said):
        simulate(tmp_path / "trace.csv", unit("ab"))


@pytest.mark.parametrize("trace", ["nowhere.csv", "nowhere.parquet", "nowhere.sqlite", Path("nowhere.csv")])
def test_the_error_of_a_missing_trace_names_it(trace: str | Path) -> None:
    with pytest.raises(BadTrace, match="nowhere"):
        simulate(trace, unit("a"))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("model,memory_bytes\na,100\n", "model 'b' is called, and has no profile"),
        ("model,memory_bytes\na,-1\n", r"models\.csv: row 1: memory_bytes is 0 or more, and less than 2\^63, not -1"),
        ("model,memory_bytes\na,1\na,1\n", r"models\.csv: row 2: model 'a' has two rows"),
        ("model,memory_bytes,load_s\na,1,soon\n", r"models\.csv: row 1: load_s 'soon' is not a number"),
        ("model\na\n", r"models\.csv has no column memory_bytes"),
    ],
)
def test_bad_profiles_are_named_with_their_row(tmp_path: Path, rows: str, said: str) -> None:
    (tmp_path / "models.csv").write_text(rows)
    with pytest.raises(BadTrace, match=said):
        simulate(recorded([(0.0, "a"), (1.0, "b")]), tmp_path / "models.csv")


def test_profiles_that_are_not_there_are_named() -> None:
    with pytest.raises(BadTrace, match=r"nowhere\.csv"):
        simulate(recorded([(0.0, "a")]), "nowhere.csv")


@pytest.mark.parametrize("field", ["predict_sigma", "load_sigma", "wake_sigma"])
@pytest.mark.parametrize("sigma", [-1.0, 1000.0, float("nan"), float("inf")])
def test_a_spread_that_can_not_be_is_named(field: str, sigma: float) -> None:
    with pytest.raises(BadScenario, match=f"{field} is from 0 to 5, not {sigma}"):
        Spreads(**{field: sigma})


@pytest.mark.parametrize("trace", [[(0.0, "a")], 42, None, {"time_s": [0.0]}])
def test_the_error_of_a_bad_trace_says_what_makes_one(trace: Any) -> None:
    with pytest.raises(BadTrace, match=r"trace is a file's name.*recorded\(\[\(time_s, model\), \.\.\.\]\)"):
        simulate(trace)
    with pytest.raises(BadTrace, match="trace is a file's name"):
        torpor.plan(trace, slo_s=1.0)


@pytest.mark.parametrize(
    ("profiles", "said"),
    [
        ({"a": {"memory_bytes": 1}}, r"profiles\['a'\] is a ModelProfile, not {'memory_bytes': 1}"),
        ([ModelProfile("a", 1, 1)], "profiles is a CSV file's name, or a ModelProfile by the name of each"),
        ({"a": ModelProfile("a", -(10**12), 1)}, r"profiles\['a'\]: memory_bytes is 0 or more, .*, not -1000000000000"),
        ({"a": ModelProfile("a", 1, "2 MB")}, "disk_bytes is a number, not '2 MB'"),  # type: ignore[arg-type]  # bad
    ],
)
def test_profiles_that_can_not_be_are_named_with_their_field(profiles: Any, said: str) -> None:
    with pytest.raises(BadTrace, match=said):
        simulate(recorded([(0.0, "a")]), profiles)


@pytest.mark.parametrize("field", [one.name for one in fields(ModelProfile)[3:]])
@pytest.mark.parametrize("seconds", [-5.0, float("nan"), float("inf"), "1", None])
def test_every_time_of_a_profile_is_looked_at(field: str, seconds: Any) -> None:
    if (field, seconds) == ("further_s", None):
        return  # its requests share no prediction
    wrong = {"a": ModelProfile("a", 1, 1, **{field: seconds})}
    with pytest.raises(BadTrace, match=rf"profiles\['a'\]: {field} is .*, not '?{seconds}'?$"):
        simulate(recorded([(0.0, "a")]), wrong)


@pytest.mark.parametrize(
    ("argument", "value", "said"),
    [
        ("seed", "1", "seed is a whole number, not '1'"),
        ("seed", 1.5, r"seed is a whole number, not 1\.5"),
        ("spreads", 0.2, r"spreads is a Spreads.*, not 0\.2"),
        ("scenario", "LRU", "scenario is a torpor.Scenario, not 'LRU'"),
        ("recorded", "log.csv", "recorded is a function .*, not 'log.csv'"),
        ("lasts_s", "7d", "lasts_s is a number, not '7d'"),
        ("instance_type", ["ml.m5.large"], "instance_type is one of the catalogue's types"),
    ],
)
def test_a_bad_argument_is_named(argument: str, value: Any, said: str) -> None:
    with pytest.raises((BadScenario, BadTrace), match=said):
        simulate(recorded([(0.0, "a")]), unit("a"), **{argument: value})


def test_a_seed_below_zero_and_an_unknown_field_are_named() -> None:
    with pytest.raises(BadScenario, match="seed is 0 or more, not -1"):
        simulate(TEXT, seed=-1)
    with pytest.raises(BadScenario, match="a scenario has no polcy"):
        simulate(recorded([(0.0, "a")]), unit("a"), polcy="LRU")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("zipf:models=1.5", "models is a number, not '1.5': a whole one"),
        ("zipf:s=nan", "s is a number, not 'nan'"),
        ("zipf:seed=-2", "seed is a number, not '-2': a whole one of 0 or more"),
        ("zipf:constant=7", "constant is a number, not '7': one from 0 to 1"),
        (
            "calibrated:models=9,s=1",
            "calibrated has no parameter s: it has models, duration_s, seed, rate_hz, rhythm",
        ),
    ],
)
def test_a_made_trace_that_cannot_be_is_named_by_its_knob(text: str, said: str) -> None:
    with pytest.raises(BadTrace, match=said):
        simulate(text)


def test_knobs_may_have_spaces_between_them() -> None:
    assert len(load("zipf: models=5, rate_hz=1, duration_s=60").trace.names) == 5


# -- the recount -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "changes", [{}, {"instances_min": 1}, {"model_cache": False}, {"instances_min": None, "instances_max": None}]
)
def test_a_recounted_simulation_is_the_same_one(changes: dict[str, bool | int | None]) -> None:
    given, scenario = load(TEXT, spreads=Spreads(0.2, 0.2)), TIGHT.altered(**changes)
    digests = DecisionDigest(), DecisionDigest()
    results = run(given, scenario, digests[0]), recounted(given, scenario, digests[1])
    assert digests[0].hex == digests[1].hex
    assert figures(results[0]) == figures(results[1])


# -- memory ------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Rounds:
    """Every model once a second, the last one later on; a chunk has two of these rounds."""

    rounds: int
    names: Sequence[str]
    lasts_s: float | None = None

    def chunks(self) -> Iterator[Chunk]:
        size = 2 * len(self.names)
        for since in range(0, self.rounds, 2):
            models = np.arange(size, dtype=np.int32) % (len(self.names) - (since < 10))
            yield Chunk(since + np.arange(size) / len(self.names), models)


def peak_of(rounds: int) -> int:
    names = [f"model-{number}" for number in range(40)]
    given = SimulationInputs(Rounds(rounds, names), unit(names), Spreads(), 0, "rounds")

    def work() -> None:
        assert run(given, TIGHT.altered(memory_bytes=30 * MIB)).requests == 40 * rounds

    return peak_bytes(work)


@pytest.mark.thorough
def test_ten_times_the_trace_takes_no_more_memory() -> None:
    assert peak_of(200) < 1.1 * peak_of(20)
