"""A simulated device beside the tier of a live instance, and what a scenario with a device says."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import torpor
from tests.container.helpers.format_models import Trained, save_onnx
from tests.container.helpers.story_on_device import KEPT_BYTES, SIZE_BYTES, StoryOnDevice
from tests.helpers.example_counts import tries
from torpor.simulator.scenario import BadScenario, Scenario
from torpor.simulator.simulation_inputs import load
from torpor.simulator.simulation_run import recounted
from torpor.workloads import BadTrace, recorded
from torpor.workloads.profile import ModelProfile
from torpor_container.core.eviction import policy
from torpor_container.core.residency import Decision

MIB = 1024**2
MODELS = 6
ACTIONS = {"enter": "load", "entered": "loaded", "leave": "evict", "left": "unloaded"}
"""The names of a simulation's log, and the residency's own."""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = np.random.default_rng(7).normal(size=(50, 4)).astype(np.float32)
    path = tmp_path_factory.mktemp("onnx") / "model.onnx"
    save_onnx(Trained(rows, rows @ np.arange(1.0, 5.0, dtype=np.float32)), path)
    return path


def profiles(**others: float) -> Mapping[str, ModelProfile]:
    fields = {"device_bytes": SIZE_BYTES, "enter_s": 0.01, "device_predict_s": 0.001, "predict_s": 0.004} | others
    return {f"m{number}": ModelProfile(f"m{number}", MIB, MIB, **fields) for number in range(MODELS)}  # type: ignore[arg-type]


def lived(file: Path, calls: Sequence[int], room_for: int, rule: str) -> list[tuple[str, str]]:
    """What a live instance's tier decides, one call after the other."""

    async def run() -> StoryOnDevice:
        story = StoryOnDevice(file, MODELS, room_for + 0.5, policy(rule))
        loaded = set[int]()
        for number in calls:
            if number not in loaded:  # a load has its model enter, before the request that waits for it
                loaded.add(number)
                async with story.tier.lend(f"m{number}"):
                    pass
            await story.called(number, 1)
        await story.tier.close()
        story.thread.close()
        return story

    return [(one.action, one.model) for one in asyncio.run(run()).decisions]


def simulated(calls: Sequence[int], room_for: int, rule: str) -> list[tuple[str, str]]:
    """What the simulated one decides."""
    decisions: list[Decision] = []
    rows = [(float(at_s), f"m{number}") for at_s, number in enumerate(calls, 1)]
    device_mib = (KEPT_BYTES + (room_for + 0.5) * SIZE_BYTES) / MIB
    result = torpor.simulate(
        recorded(rows),
        profiles(),
        policy=rule,
        device_mib=device_mib,
        device_kept_bytes=KEPT_BYTES,
        recorded=lambda slot, decision: decisions.append(decision),
    )
    on_device = [(ACTIONS[one.action], one.model) for one in decisions if one.action in ACTIONS]
    assert result.entries == sum(action == "load" for action, _ in on_device)
    assert (result.failed, result.requests) == (0, len(calls))
    return on_device


@settings(max_examples=tries(10), deadline=None)
@given(
    calls=st.lists(st.integers(0, MODELS - 1), min_size=1, max_size=40),
    room_for=st.integers(1, MODELS),
    rule=st.sampled_from(["LRU", "S3-FIFO"]),
)
def test_who_enters_and_who_leaves_is_the_same_as_live(file: Path, calls: list[int], room_for: int, rule: str) -> None:
    live = lived(file, calls, room_for, rule.lower())
    assert [one for one in simulated(calls, room_for, rule) if one[0] in ("loaded", "evict")] == [
        one for one in live if one[0] in ("loaded", "evict")
    ]


def test_a_model_that_leaves_the_device_stays_in_memory_and_enters_again_without_a_load() -> None:
    result = torpor.simulate(
        recorded([(1.0, "m0"), (2.0, "m1"), (3.0, "m0")]),
        profiles(),
        device_mib=628 + SIZE_BYTES / MIB,
        overhead_s=0.0,
        beside_load_s=0.0,
    )
    assert (result.loads, result.evictions, result.entries) == (2, 0, 3)
    assert result.warm_latencies.mean_s == pytest.approx(0.011, rel=0.02)  # 10 ms to enter, 1 ms to predict


def test_predictions_and_entries_have_one_thread() -> None:
    """Two calls at once, for a model that is on the device and for one that must enter."""
    calls = [(1.0, "m0"), (1.0, "m1"), (2.0, "m2"), (3.0, "m2"), (3.0, "m2"), (3.0, "m2")]
    result = torpor.simulate(recorded(calls), profiles(enter_s=0.0), device_mib=628 + 4 * SIZE_BYTES / MIB)
    assert result.warm == 3
    assert result.warm_latencies.mean_s == pytest.approx((0.001 + 0.002 + 0.003) / 3, rel=0.02)


def test_a_model_that_no_device_holds_fails_and_its_neighbours_answer() -> None:
    large = {
        **profiles(),
        "large": ModelProfile("large", MIB, MIB, device_bytes=SIZE_BYTES * 3, device_predict_s=0.001),
    }
    calls = [(1.0, "m0"), (2.0, "large"), (3.0, "m0"), (4.0, "large")]
    result = torpor.simulate(recorded(calls), large, device_mib=628 + 2 * SIZE_BYTES / MIB)
    assert (result.requests, result.failed, result.entries) == (4, 2, 1)


def test_models_without_room_on_a_device_predict_on_the_processor_of_the_same_instance() -> None:
    mixed = {**profiles(), "tree": ModelProfile("tree", MIB, MIB, predict_s=0.004)}
    result = torpor.simulate(
        recorded([(1.0, "tree"), (2.0, "tree"), (3.0, "m0"), (4.0, "m0")]), mixed, device_mib=2000.0
    )
    assert result.entries == 1
    assert result.warm_latencies.mean_s == pytest.approx((0.004 + 0.001) / 2, rel=0.02)


def test_the_counters_of_a_busy_device_agree_with_the_log() -> None:
    chance = np.random.default_rng(3)
    names = [f"m{number}" for number in chance.integers(0, MODELS, 2000)]
    rows = sorted(zip(chance.uniform(0, 20, 2000).tolist(), names, strict=True))
    inputs = load(recorded(rows), profiles())
    scenario = Scenario(device_mib=628 + 3 * SIZE_BYTES / MIB, memory_bytes=4 * MIB)
    result = recounted(inputs, scenario)
    assert result.failed == 0
    assert result.entries > result.loads > MODELS


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"device_mib": 600}, r"device_mib: CUDA and its libraries keep 628 MiB \(device_kept_bytes\) of 600 MiB"),
        ({"device_mib": -1.0}, "device_mib"),
        ({"device_kept_bytes": -1}, "device_kept_bytes"),
    ],
)
def test_a_device_that_cannot_be_is_refused(fields: dict[str, float], said: str) -> None:
    with pytest.raises(BadScenario, match=said):
        Scenario(**fields)  # type: ignore[arg-type]


def test_a_model_on_a_device_says_how_long_it_predicts_there() -> None:
    with pytest.raises(BadTrace, match=r"profiles\['m0'\]: device_predict_s is 0: say how long"):
        torpor.simulate(recorded([(1.0, "m0")]), profiles(device_predict_s=0.0), device_mib=2000)


def test_what_nobody_knows_of_a_device_is_said() -> None:
    calls, plain = recorded([(1.0, "m0")]), profiles(device_bytes=0)
    unknown = torpor.simulate(calls, plain, device_mib=2000)
    assert any("no profile has it (device_bytes)" in one for one in unknown.assumed)
    unused = torpor.simulate(calls, plain, instance_type="ml.g5.xlarge")
    assert any("the GPUs of ml.g5.xlarge: left out" in one for one in unused.assumed)


def test_a_scenario_with_a_device_deploys_itself() -> None:
    said = Scenario(device_mib=2000).environment()
    assert (said["TORPOR_DEVICE"], said["TORPOR_DEVICE_MEMORY_MIB"]) == ("cuda", "2000")
