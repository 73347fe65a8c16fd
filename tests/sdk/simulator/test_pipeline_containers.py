"""The containers of a scenario: their rules, their memory, and their start."""

from dataclasses import replace
from typing import Any

import pytest

import torpor
from torpor.simulator.pipeline_containers import passing_s
from torpor.simulator.scenario import OWN_BYTES, BadScenario, Scenario
from torpor.workloads import recorded
from torpor.workloads.profile import ContainerProfile, ModelProfile

MIB = 1024 * 1024
CLEAN, MODELS = ContainerProfile("clean", 100 * MIB, 0.125), ContainerProfile("models", models=True)
RANK = ContainerProfile("rank", 50 * MIB, 0.25, 0.5)
PIPELINE = (CLEAN, MODELS, RANK)
CALLS = recorded([(float(second), "ab"[second % 2]) for second in range(100)])
PROFILES = {name: ModelProfile(name, MIB, MIB, 0.0, 0.0, 0.5, 0.0, 0.125) for name in "ab"}


def test_models_have_the_memory_that_the_containers_leave() -> None:
    assert Scenario(memory_mib=1000, containers=PIPELINE).models_bytes == (1000 - 150) * MIB - OWN_BYTES
    with pytest.raises(
        BadScenario, match=r"and its other containers 150 MiB \(containers\): nothing is left for models"
    ):
        Scenario(memory_mib=160, containers=PIPELINE)


def test_an_instance_is_ready_when_its_slowest_container_is() -> None:
    slow = (replace(CLEAN, start_s=9.0), MODELS, replace(RANK, start_s=4.0))
    assert Scenario(wake_s=2.0, containers=slow).plan.machine.wake_s == 9.0
    assert Scenario(wake_s=12.0, containers=slow).plan.machine.wake_s == 12.0
    asleep = torpor.simulate(recorded([(0.0, "a")]), PROFILES, Scenario(wake_s=2.0, containers=slow, instances_min=0))
    assert asleep.latencies.most_s == pytest.approx(9.0 + 0.125 + 0.5 + 0.125 + 0.75)


def test_a_name_says_that_it_is_a_pipeline() -> None:
    assert Scenario(containers=PIPELINE).name == "1 x ml.m5.large, LRU, 3 containers"


@pytest.mark.parametrize(
    ("containers", "said"),
    [
        ([CLEAN, MODELS], "containers is a tuple of ContainerProfile"),
        ((CLEAN, "models"), "containers is a tuple of ContainerProfile"),
        ((MODELS,), "a pipeline has two containers or more, not 1"),
        ((CLEAN, RANK), r"exactly one of them has the models \(models\), not 0"),
        ((MODELS, replace(MODELS, name="more")), r"exactly one of them has the models \(models\), not 2"),
        ((CLEAN, MODELS, CLEAN), "two have the name 'clean'"),
        (
            (CLEAN, replace(MODELS, predict_s=1.0)),
            "'models' has the models: give the models' profiles and their spread",
        ),
        ((CLEAN, replace(MODELS, memory_bytes=1)), "give own_bytes instead of its memory_bytes"),
        ((replace(CLEAN, threads=0), MODELS), "'clean': threads is 1 or more, not 0"),
        ((replace(CLEAN, predict_sigma=9), MODELS), "'clean': predict_sigma is from 0 to 5, not 9"),
        ((replace(CLEAN, name=""), MODELS), "'': name is a text"),
    ],
)
def test_containers_that_cannot_be_are_refused_by_their_name_and_field(containers: Any, said: str) -> None:
    with pytest.raises(BadScenario, match=said):
        Scenario(containers=containers)


def test_latency_is_the_sum_of_the_containers_and_each_has_its_share() -> None:
    result = torpor.simulate(CALLS, PROFILES, Scenario(containers=PIPELINE))
    assert [one.container for one in result.containers] == ["clean", "models", "rank"]
    assert [one.latencies.count for one in result.containers] == [100, 100, 100]
    means_s = [one.latencies.mean_s for one in result.containers]
    assert means_s == pytest.approx([0.125, 0.125 + 2 * 0.5 / 100, 0.75])
    assert result.latencies.mean_s == pytest.approx(sum(means_s))
    assert result.containers_frame()["p99_s"].iloc[0] == pytest.approx(0.125, rel=0.005)
    alone = torpor.simulate(CALLS, PROFILES, Scenario())
    assert (alone.served.start_ms, alone.hit_ratio) == (result.served.start_ms, result.hit_ratio)


def test_each_container_draws_its_times_for_itself_and_the_seed_says_which() -> None:
    spread = (replace(CLEAN, predict_sigma=0.5), MODELS, replace(CLEAN, name="again", predict_sigma=0.5))
    scenario = Scenario(containers=spread)

    def times(seed: int) -> list[tuple[float, float]]:
        found = torpor.simulate(CALLS, PROFILES, scenario, seed=seed).containers
        return [(one.latencies.total_s, one.latencies.most_s) for one in found]

    assert times(1) == times(1) != times(2)
    assert times(1)[0] != times(1)[2]


def test_the_least_time_in_the_containers_is_below_every_draw() -> None:
    spread = (replace(CLEAN, predict_sigma=0.5), MODELS, RANK)
    assert passing_s(PIPELINE) == passing_s(PIPELINE, quickest=True) == 0.875
    assert passing_s(spread, quickest=True) < 0.75 + 0.01


def test_a_plan_of_a_pipeline_counts_all_containers_and_leaves_serverless_out() -> None:
    space = torpor.PlanSpace(["ml.m5.large"], instances_max=1, idle_s=[], like=Scenario(containers=PIPELINE))
    planned = torpor.plan(CALLS, PROFILES, slo_s=1.5, quantile=0.9, space=space)
    assert planned.best is not None
    assert planned.best.scenario.containers == PIPELINE
    assert planned.floor.least_s == pytest.approx(0.875 + 0.125)
    assert [name for name in planned.apart if "serverless" in name] == []
    assert "serverless inference: AWS's has no pipelines" in planned.left_out
    assert not any("serverless" in one for one in planned.assumed)
    late = torpor.plan(CALLS, PROFILES, slo_s=0.9, quantile=0.9, space=space)
    assert late.best is None
    apart = next(iter(late.apart.values()))
    assert apart.latencies.least_s == pytest.approx(1.0)
    named = torpor.plan(CALLS, PROFILES, slo_s=1.5, quantile=0.9, space=replace(space, policies=["GDSF"]))
    assert "# and in the container models of the model's pipeline:" in named.call()
