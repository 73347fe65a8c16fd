"""Recommendations jobs: from their request to the simulator's question, and from its answer to AWS's shapes."""

import asyncio
import inspect
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.endpoint.services.helpers.in_memory_control_plane import MULTI_MODEL, InMemoryControlPlane
from tests.helpers.waiting import PATIENCE_S
from torpor_account.aws.calls import Call
from torpor_account.aws.errors import AwsError
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_endpoint.services.jobs.job_queue import JobQueue
from torpor_endpoint.services.jobs.job_records import JobRecords
from torpor_endpoint.services.recommendations.measured_variants import MeasuredVariants
from torpor_endpoint.services.recommendations.recommendation_operations import OPERATIONS, Recommending
from torpor_endpoint.services.recommendations.recommendation_question import users
from torpor_endpoint.services.recommendations.recommendation_stages import RecommendationsJob
from torpor_endpoint.services.recommendations.recommendation_work import RecommendationWork
from torpor_endpoint.storage.schema import RECORDS

PACKAGE = "arn:aws:sagemaker:us-east-1:123456789012:model-package/g/1"
ROLE = "arn:aws:iam::123456789012:role/recommends"
SIMULATOR = """
import json, pathlib, sys
question = json.load(sys.stdin)
pathlib.Path(question["ledger"]).with_name("asked.json").write_text(json.dumps([sys.argv[1:], question]))
good = {"invocations_per_minute": 6000, "latency_ms": 9.2, "usd_per_hour": 0.12, "usd_per_invocation": 3e-7,
        "processor_percent": 97.0, "memory_percent": 3.0}
found = [{"setup": one, **good} for one in question["setups"] or [{"instance_type": "ml.m5.large"}]]
found.append({"setup": {"instance_type": "ml.t2.medium"}, "trouble": "it is too small"})
print(json.dumps({"benchmarks": found}))
"""


class JobApi:
    """The operations over a folder, whose simulator is a script of the test's."""

    def __init__(self, recommending: Recommending) -> None:
        self.recommending = recommending

    async def __call__(self, operation: str, **params: Any) -> Any:
        answer = OPERATIONS[operation](self.recommending, Call(operation, params, "us-east-1", "123456789012", "id"))
        return await answer if inspect.isawaitable(answer) else answer

    async def refusal(self, operation: str, **params: Any) -> str:
        with pytest.raises(AwsError) as refused:
            await self(operation, **params)
        return refused.value.message

    async def ended(self, **given: Any) -> Any:
        """Describes a job for this InputConfig once it has ended."""
        await self("CreateInferenceRecommendationsJob", **job(**given))
        await asyncio.wait_for(self.recommending.queue.ended("job"), PATIENCE_S)
        return await self("DescribeInferenceRecommendationsJob", JobName="job")


def job(kind: str = "Default", stops: Any = None, **given: Any) -> dict[str, Any]:
    made = {"JobName": "job", "JobType": kind, "RoleArn": ROLE, "InputConfig": {"ModelName": "houses", **given}}
    return made | ({} if stops is None else {"StoppingConditions": stops})


def advanced(name: str = "", value: str = "", size: str | None = "ml.m5.large", **given: Any) -> dict[str, Any]:
    """An Advanced job that tries one instance type, and perhaps one value of a variable."""
    tried: dict[str, Any] = {} if size is None else {"InstanceType": size}
    if name:
        tried["EnvironmentParameterRanges"] = {"CategoricalParameterRanges": [{"Name": name, "Value": [value]}]}
    return job("Advanced", EndpointConfigurations=[tried], **given)


@asynccontextmanager
async def opened(folder: Path, monkeypatch: pytest.MonkeyPatch, module: str | None = "sim") -> AsyncIterator[JobApi]:
    (folder / "sim.py").write_text(SIMULATOR)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    plane = InMemoryControlPlane()
    plane("CreateModel", ModelName="houses", ExecutionRoleArn=ROLE, PrimaryContainer=MULTI_MODEL)
    variant = {"VariantName": "v", "ModelName": "houses", "InstanceType": "ml.m5.large", "InitialInstanceCount": 1}
    plane("CreateEndpointConfig", EndpointConfigName="c", ProductionVariants=[variant])
    plane("CreateEndpoint", EndpointName="e", EndpointConfigName="c")
    database = SqliteFile(":memory:", RECORDS)
    jobs = JobRecords(database, "recommendation_jobs", RecommendationsJob, time.time)

    async def flush() -> None:
        (folder / "ledger.sqlite").touch()

    work = RecommendationWork(
        jobs, MeasuredVariants(plane.store), module, lambda: nullcontext(folder / "ledger.sqlite"), flush
    )
    queue = JobQueue(jobs, work)
    await queue.start()
    try:
        yield JobApi(Recommending(jobs, queue, lambda arn, tags: None, lambda arn: None, time.time))
    finally:
        await queue.close()
        database.close()
        plane.close()


def test_an_advanced_job_asks_what_was_requested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ranges = {"CategoricalParameterRanges": [{"Name": "TORPOR_VCPU", "Value": ["1", "2"]}]}
    serverless = {"MemorySizeInMB": 2048, "MaxConcurrency": 5}
    tried = [
        {"InstanceType": "ml.c5.xlarge", "EnvironmentParameterRanges": ranges},
        {"ServerlessConfig": serverless},
    ]
    stairs = {"TrafficType": "STAIRS", "Stairs": {"DurationInSeconds": 120, "NumberOfSteps": 3, "UsersPerStep": 2}}
    stops = {
        "MaxInvocations": 900,
        "FlatInvocations": "Continue",
        "ModelLatencyThresholds": [{"Percentile": "P99", "ValueInMilliseconds": 40}],
    }

    async def story() -> None:
        async with opened(tmp_path, monkeypatch) as api:
            done = await api.ended(kind="Advanced", stops=stops, EndpointConfigurations=tried, TrafficPattern=stairs)
            steps = (await api("ListInferenceRecommendationsJobSteps", JobName="job"))["Steps"]
            first = await api("ListInferenceRecommendationsJobSteps", JobName="job", MaxResults=3)
            rest = await api("ListInferenceRecommendationsJobSteps", JobName="job", NextToken=first["NextToken"])
            failed = (await api("ListInferenceRecommendationsJobSteps", JobName="job", Status="FAILED"))["Steps"]
        assert (done["Status"], done["FailureReason"]) == ("COMPLETED", None)
        threads, _, calls = done["InferenceRecommendations"]
        assert threads["Metrics"]["MaxInvocations"] == 6000
        assert threads["Metrics"]["ModelLatency"] == 10  # rounded up
        assert threads["EndpointConfiguration"]["InstanceType"] == "ml.c5.xlarge"
        assert threads["ModelConfiguration"]["EnvironmentParameters"] == [
            {"Key": "TORPOR_VCPU", "ValueType": "String", "Value": "1"}
        ]
        assert calls["EndpointConfiguration"]["ServerlessConfig"]["MemorySizeInMB"] == 2048
        assert [one["Status"] for one in steps] == 3 * ["COMPLETED"] + ["FAILED"]
        assert first["Steps"] + rest["Steps"] == steps
        assert [one["InferenceBenchmark"]["FailureReason"] for one in failed] == ["it is too small"]

    asyncio.run(story())
    arguments, asked = json.loads((tmp_path / "asked.json").read_text())
    assert arguments == ["recommend"]
    assert (asked["endpoint"], asked["variant"], asked["users"]) == ("e", "v", [2, 4, 6])
    assert (asked["percentile"], asked["latency_ms"], asked["invocations_max"]) == (99.0, 40, 900)
    assert asked["stop_flat"] is False


def test_a_job_about_an_endpoint_that_is_there_tells_its_performance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with opened(tmp_path, monkeypatch) as api:
            done = await api.ended(kind="Advanced", Endpoints=[{"EndpointName": "e"}])
        [found] = done["EndpointPerformances"]
        assert found == {"Metrics": {"MaxInvocations": 6000, "ModelLatency": 10}, "EndpointInfo": {"EndpointName": "e"}}
        assert done["InferenceRecommendations"] is None

    asyncio.run(story())


@pytest.mark.parametrize(
    ("module", "given", "said"),
    [
        (None, {}, "InternalServerError: This endpoint has no simulator"),
        ("sim", {"ModelName": "cars"}, "ClientError: cars is not on any endpoint. Torpor recommends from the times"),
        ("nowhere", {}, "ClientError: "),
    ],
)
def test_a_job_that_cannot_be_answered_fails_with_its_reason(
    module: str | None, given: dict[str, Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with opened(tmp_path, monkeypatch, module) as api:
            done = await api.ended(**given)
            assert (done["Status"], done["InferenceRecommendations"]) == ("FAILED", None)
            assert done["FailureReason"].startswith(said)
            assert await api("StopInferenceRecommendationsJob", JobName="job") == {}

    asyncio.run(story())


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (job(ModelPackageVersionArn=PACKAGE), "must have either ModelName"),
        (job(TrafficPattern={"TrafficType": "PHASES", "Phases": [{}]}), "A Default job has no TrafficPattern"),
        (job("Advanced"), "EndpointConfigurations must be given"),
        (advanced(size=None), "either InstanceType or ServerlessConfig"),
        (advanced(Endpoints=[{"EndpointName": "e"}]), "give one of them"),
        (advanced(TrafficPattern={"TrafficType": "STAIRS"}), "Stairs for STAIRS"),
        (advanced("OMP_NUM_THREADS", "1"), "knows the effect of TORPOR_VCPU alone"),
        (advanced("TORPOR_VCPU", "many"), "must be whole numbers"),
    ],
)
def test_what_is_not_understood_is_refused(
    request_: dict[str, Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with opened(tmp_path, monkeypatch) as api:
            assert said in await api.refusal("CreateInferenceRecommendationsJob", **request_)

    asyncio.run(story())


def test_jobs_are_listed_by_their_model_and_have_a_name_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with opened(tmp_path, monkeypatch) as api:
            await api.ended()
            listed = await api("ListInferenceRecommendationsJobs", ModelNameEquals="houses")
            none = await api("ListInferenceRecommendationsJobs", ModelNameEquals="cars")
            assert [one["JobName"] for one in listed["InferenceRecommendationsJobs"]] == ["job"]
            assert none["InferenceRecommendationsJobs"] == []
            assert "already exists" in await api.refusal("CreateInferenceRecommendationsJob", **job())
            assert "Could not find" in await api.refusal("DescribeInferenceRecommendationsJob", JobName="other")

    asyncio.run(story())


def test_phases_are_tried_at_their_beginning_and_their_end() -> None:
    phases = [
        {"InitialNumberOfUsers": 2, "SpawnRate": 3, "DurationInSeconds": 120},
        {"InitialNumberOfUsers": 20, "SpawnRate": 0, "DurationInSeconds": 120},
    ]
    assert list(users({"TrafficType": "PHASES", "Phases": phases})) == [2, 8, 20]
    assert list(users({})) == []
