"""Hyperparameter tuning jobs: real training jobs with other hyperparameters each, of which the best is told."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.endpoint.helpers.model_artifacts import put
from tests.endpoint.services.helpers.training_in_folder import XGBOOST, TrainingFolder, channel
from tests.endpoint.services.helpers.tuning_in_folder import open_tuning, tuning_job
from tests.helpers.waiting import reached
from torpor_endpoint.services.tuning.rules import checked, training_request
from torpor_endpoint.services.tuning.running import metric_reading
from torpor_endpoint.services.tuning.running.metric_reading import last_value

NAME = {"HyperParameterTuningJobName": "tuning"}
LOSS = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float)
x = parser.parse_known_args()[0].rate
print("loss=9.0")
print(f"epoch 2 loss={abs(x - 0.5):.6f}")
"""
SLOW = "import time; print('begun', flush=True); time.sleep(600)"


def test_a_tuning_job_runs_its_training_jobs_and_tells_the_best(training: TrainingFolder) -> None:
    async def story() -> None:
        training.script(LOSS)
        async with open_tuning(training) as api:
            described = await api.tuned(jobs=3, RandomSeed=7)
            assert described["HyperParameterTuningJobStatus"] == "Completed", described["FailureReason"]
            trials = await api.trials()
            assert len(trials) == 3
            losses = []
            for trial in trials:
                loss = trial["FinalHyperParameterTuningJobObjectiveMetric"]["Value"]
                assert loss == pytest.approx(abs(float(trial["TunedHyperParameters"]["rate"]) - 0.5), abs=1e-5)
                losses.append(loss)
            assert (
                described["BestTrainingJob"]["TrainingJobName"] == trials[losses.index(min(losses))]["TrainingJobName"]
            )
            assert described["TrainingJobStatusCounters"]["Completed"] == 3
            assert described["ObjectiveStatusCounters"]["Succeeded"] == 3
            best_first = await api.trials(SortBy="FinalObjectiveMetricValue")
            assert [one["FinalHyperParameterTuningJobObjectiveMetric"]["Value"] for one in best_first] == sorted(losses)
            job = await api.training.describe(trials[0]["TrainingJobName"])
            assert job["TuningJobArn"] == described["HyperParameterTuningJobArn"]
            assert job["HyperParameters"]["rate"] == trials[0]["TunedHyperParameters"]["rate"]
            await api("DeleteHyperParameterTuningJob", **NAME)
            assert "tuning" in await api.refusal(
                "DescribeHyperParameterTuningJob", HyperParameterTuningJobName="tuning"
            )

    asyncio.run(story())


@pytest.mark.thorough
def test_the_built_in_algorithm_has_its_own_metrics(training: TrainingFolder) -> None:
    async def story() -> None:
        put(training.bucket, {"rows/a.csv": b"".join(b"%d,%d\n" % (at % 2, at) for at in range(20))})
        job = tuning_job(
            jobs=2,
            HyperParameterTuningJobObjective={"Type": "Minimize", "MetricName": "train:mae"},
            ParameterRanges={"CategoricalParameterRanges": [{"Name": "max_depth", "Values": ["1", "3"]}]},
            Strategy="Grid",
        )
        definition = job["TrainingJobDefinition"]
        definition["AlgorithmSpecification"] = {"TrainingImage": XGBOOST, "TrainingInputMode": "File"}
        definition["StaticHyperParameters"] = {"num_round": "2", "objective": "reg:squarederror"}
        definition["InputDataConfig"] = [channel("train", "s3://bucket/rows/", ContentType="text/csv")]
        async with open_tuning(training) as api:
            await api("CreateHyperParameterTuningJob", **job)
            described = await api.ended()
            assert described["HyperParameterTuningJobStatus"] == "Completed", described["FailureReason"]
            tried = [one["TunedHyperParameters"] for one in await api.trials()]
            assert tried == [{"max_depth": "1"}, {"max_depth": "3"}]
            assert described["BestTrainingJob"]["TunedHyperParameters"] == {"max_depth": "3"}

    asyncio.run(story())


def test_training_jobs_without_a_value_fail_the_tuning_job(training: TrainingFolder) -> None:
    async def story() -> None:
        training.script("print('no loss here')")
        async with open_tuning(training) as api:
            described = await api.tuned(jobs=1)
            assert described["HyperParameterTuningJobStatus"] == "Failed"
            assert "without a value" in described["FailureReason"]
            assert described["ObjectiveStatusCounters"]["Failed"] == 1

    asyncio.run(story())


def test_a_stopped_tuning_job_stops_its_training_jobs(training: TrainingFolder) -> None:
    async def story() -> None:
        training.script(SLOW)
        async with open_tuning(training) as api:
            await api("CreateHyperParameterTuningJob", **tuning_job())

            async def run() -> bool:
                return sum("begun\n" in path.read_text() for path in training.logs.rglob("*.log")) == 2

            await reached(run, 60.0, 0.01)
            pending = (await api.describe())["ObjectiveStatusCounters"]
            assert pending == {"Succeeded": 0, "Pending": 2, "Failed": 0}
            assert "InProgress" in await api.refusal(
                "DeleteHyperParameterTuningJob", HyperParameterTuningJobName="tuning"
            )
            await api("StopHyperParameterTuningJob", **NAME)
            described = await api.ended()
            assert described["HyperParameterTuningJobStatus"] == "Stopped"
            assert described["TrainingJobStatusCounters"]["Stopped"] == 2
            assert "Stopped" in await api.refusal("StopHyperParameterTuningJob", **NAME)

    asyncio.run(story())


def test_a_tuning_job_goes_on_after_a_restart(training: TrainingFolder) -> None:
    """A training job that ran is lost, and counts as failed; the others come as they would have."""

    async def story() -> None:
        training.script(SLOW)
        async with open_tuning(training) as api:
            await api("CreateHyperParameterTuningJob", **tuning_job(jobs=2, parallel=1))
            await reached(lambda: _any_begun(training), 60.0, 0.01)
        training.script(LOSS)
        async with open_tuning(training) as api:
            described = await api.ended()
            assert described["HyperParameterTuningJobStatus"] == "Completed", described["FailureReason"]
            assert [one["TrainingJobStatus"] for one in await api.trials()] == ["Failed", "Completed"]

    asyncio.run(story())


async def _any_begun(training: TrainingFolder) -> bool:
    return any("begun\n" in path.read_text() for path in training.logs.rglob("*.log"))


DEFINITION = tuning_job()["TrainingJobDefinition"]
NO_GROUP = {**DEFINITION["AlgorithmSpecification"], "MetricDefinitions": [{"Name": "loss", "Regex": "loss="}]}
NO_REGEX = {**DEFINITION["AlgorithmSpecification"], "MetricDefinitions": [{"Name": "loss", "Regex": "loss=("}]}


@pytest.mark.parametrize(
    ("config", "members", "said"),
    [
        ({"Strategy": "Hyperband"}, {}, "Hyperband is not supported"),
        ({"Strategy": "Grid"}, {}, "CategoricalParameterRanges only"),
        ({"ResourceLimits": {"MaxParallelTrainingJobs": 1}}, {}, "MaxNumberOfTrainingJobs must be given"),
        ({"ParameterRanges": {}}, {}, "ParameterRanges must have"),
        ({"ParameterRanges": {"AutoParameters": []}}, {}, "AutoParameters is not supported"),
        (
            {"HyperParameterTuningJobObjective": {"Type": "Maximize", "MetricName": "auc"}},
            {},
            "objective metric auc must be defined",
        ),
        (
            {},
            {"TrainingJobDefinition": {**DEFINITION, "HyperParameterTuningResourceConfig": {}}},
            "exactly one of ResourceConfig",
        ),
        ({}, {"WarmStartConfig": {}}, "WarmStartConfig is not supported"),
        ({}, {"Autotune": {"Mode": "Enabled"}}, "Autotune is not supported"),
        ({}, {"TrainingJobDefinitions": [DEFINITION]}, "TrainingJobDefinitions is not supported"),
        ({}, {"TrainingJobDefinition": {**DEFINITION, "AlgorithmSpecification": NO_GROUP}}, "must have a group"),
        ({}, {"TrainingJobDefinition": {**DEFINITION, "AlgorithmSpecification": NO_REGEX}}, "regular expression"),
        (
            {},
            {"TrainingJobDefinition": {**DEFINITION, "StaticHyperParameters": {"rate": "1"}}},
            "rate must be either",
        ),
        (
            {},
            {"TrainingJobDefinition": {**DEFINITION, "OutputDataConfig": {"S3OutputPath": "file:///tmp"}}},
            "must begin with s3://",
        ),
        (
            {"TuningJobCompletionCriteria": {"ConvergenceDetected": {"CompleteOnConvergence": "Enabled"}}},
            {},
            "ConvergenceDetected is not supported",
        ),
    ],
)
def test_what_cannot_be_tuned_is_refused_by_name(
    training: TrainingFolder, config: dict[str, Any], members: dict[str, Any], said: str
) -> None:
    async def story() -> None:
        async with open_tuning(training) as api:
            assert said in await api.refusal("CreateHyperParameterTuningJob", **{**tuning_job(**config), **members})
            assert (await api("ListHyperParameterTuningJobs"))["HyperParameterTuningJobSummaries"] == []

    asyncio.run(story())


@pytest.mark.parametrize(
    "given",
    [
        {"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 30},
        {"InstanceConfigs": [{"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 30}] * 2},
    ],
)
def test_the_resources_may_be_given_as_the_sdk_gives_them(given: dict[str, Any]) -> None:
    job = tuning_job()
    definition = {name: value for name, value in job["TrainingJobDefinition"].items() if name != "ResourceConfig"}
    request = {**job, "TrainingJobDefinition": {**definition, "HyperParameterTuningResourceConfig": given}}
    checked(request)
    resources = {"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 30}
    assert training_request(request, {})["ResourceConfig"] == resources


def test_the_last_value_of_a_metric_counts() -> None:
    assert last_value(["a=1 a=2\n", "a=x\n", "b=3\n"], "a=(.)") == 2.0
    assert last_value(["b=3\n"], "a=(.)") is None


def test_a_metric_is_read_by_a_program_that_needs_no_package(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("loss=0.25\n")
    program = [sys.executable, "-I", "-S", metric_reading.__file__, str(log), "loss=(.*)"]
    assert subprocess.run(program, capture_output=True, text=True, check=True).stdout == "0.25\n"
