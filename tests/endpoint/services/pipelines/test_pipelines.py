"""Pipelines and their executions: each step is a call with its values resolved, and its job is waited for."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.endpoint.helpers.model_artifacts import put
from tests.endpoint.services.helpers.pipelines_in_folder import ROLE, KeptSageMaker, PipelinesApi, open_pipelines
from tests.helpers.waiting import reached
from torpor_endpoint.services.pipelines.running.sagemaker_calls import SageMakerCalls, everything
from torpor_endpoint.services.pipelines.running.step_actions import ACTIONS, resource_name

MODEL = {"Get": "Steps.train.ModelArtifacts.S3ModelArtifacts"}
JSON_GET = {"Std:JsonGet": {"S3Uri": "s3://bucket/report.json", "Path": "loss"}}


def step(name: str, kind: str = "Training", **arguments: Any) -> dict[str, Any]:
    return {"Name": name, "Type": kind, "Arguments": arguments}


def check(limit: float, yes: list[Any], no: list[Any]) -> dict[str, Any]:
    conditions = [{"Type": "LessThan", "LeftValue": JSON_GET, "RightValue": limit}]
    return {**step("check", "Condition", Conditions=conditions, IfSteps=yes, ElseSteps=no), "DependsOn": ["train"]}


def trained(name: str, request: dict[str, Any]) -> dict[str, Any]:
    return {"TrainingJobStatus": "Completed", "ModelArtifacts": {"S3ModelArtifacts": f"s3://bucket/{name}"}}


def test_an_execution_calls_the_operation_of_each_step_with_its_values(tmp_path: Path) -> None:
    async def story() -> None:
        sagemaker = KeptSageMaker(trained)
        async with open_pipelines(tmp_path, sagemaker) as api:
            put(tmp_path / "s3/bucket", {"report.json": b'{"loss": 0.2}'})
            register = step("reg", "RegisterModel", ModelPackageGroupName="group", Url=MODEL)
            make = step("make", "Model", PrimaryContainer={"ModelDataUrl": MODEL})
            rounds = {"Std:Join": {"On": "", "Values": [{"Get": "Parameters.n"}]}}
            parameters = [{"Name": "n", "Type": "Integer", "DefaultValue": 3}]
            await api.create(
                step("train", HyperParameters={"n": rounds}), check(0.5, [make, register], []), Parameters=parameters
            )
            arn = await api.start(PipelineParameters=[{"Name": "n", "Value": "7"}])
            assert (await api.ended(arn))["PipelineExecutionStatus"] == "Succeeded"
            steps = await api.steps(arn)
            assert list(steps) == ["train", "check", "make", "reg"]
            assert steps["check"]["Metadata"] == {"Condition": {"Outcome": "True"}}
            (name,) = sagemaker.created()
            assert steps["train"]["Metadata"]["TrainingJob"]["Arn"].endswith(name.lower())
            assert sagemaker.kept[name]["HyperParameters"] == {"n": "7"}
            asked = dict(sagemaker.asked)
            assert asked["CreateModel"]["PrimaryContainer"] == {"ModelDataUrl": f"s3://bucket/{name}"}
            assert asked["CreateModelPackageGroup"] == {"ModelPackageGroupName": "group"}
            assert asked["CreateModelPackage"]["Url"] == f"s3://bucket/{name}"
            values = await api("ListPipelineParametersForExecution", PipelineExecutionArn=arn)
            assert values["PipelineParameters"] == [{"Name": "n", "Value": "7"}]

    asyncio.run(story())


def test_the_other_branch_may_fail_the_execution_with_its_words(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_pipelines(tmp_path, KeptSageMaker(trained)) as api:
            put(tmp_path / "s3/bucket", {"report.json": b'{"loss": 0.9}'})
            text = {"Std:Join": {"On": " ", "Values": ["loss", JSON_GET]}}
            await api.create(
                step("train"), check(0.5, [step("make", "Model")], [step("bad", "Fail", ErrorMessage=text)])
            )
            arn = await api.start()
            described = await api.ended(arn)
            assert described["PipelineExecutionStatus"] == "Failed"
            assert described["FailureReason"].endswith("bad: loss 0.9")
            assert list(await api.steps(arn)) == ["train", "check", "bad"]

    asyncio.run(story())


@pytest.mark.parametrize(
    ("ending", "reason"),
    [
        ({"TrainingJobStatus": "Failed", "FailureReason": "AlgorithmError: no"}, "AlgorithmError: no"),
        ({"TrainingJobStatus": "Completed"}, "ModelArtifacts.S3ModelArtifacts has no value"),
    ],
)
def test_a_step_that_fails_says_why_and_nothing_begins_after_it(
    tmp_path: Path, ending: dict[str, Any], reason: str
) -> None:
    async def story() -> None:
        async with open_pipelines(tmp_path, KeptSageMaker(lambda name, request: ending)) as api:
            await api.create(
                step("train"), step("make", "Model", Url=MODEL), step("more", Url={"Get": "Steps.make.ModelArn"})
            )
            arn = await api.start()
            assert reason in (await api.ended(arn))["FailureReason"]
            assert "more" not in await api.steps(arn)

    asyncio.run(story())


def test_a_step_is_tried_again_as_its_policy_says(tmp_path: Path) -> None:
    async def story() -> None:
        ends = iter(["Failed", "Completed"])

        def ending(name: str, request: dict[str, Any]) -> dict[str, Any]:
            return {"TrainingJobStatus": next(ends), "FailureReason": "InternalServerError: the disk"}

        sagemaker = KeptSageMaker(ending)
        policy = {"ExceptionType": ["SageMaker.JOB_INTERNAL_ERROR"], "MaxAttempts": 1, "IntervalSeconds": 0}
        async with open_pipelines(tmp_path, sagemaker) as api:
            await api.create({**step("train"), "RetryPolicies": [policy]})
            arn = await api.start()
            assert (await api.ended(arn))["PipelineExecutionStatus"] == "Succeeded"
            assert (await api.steps(arn))["train"]["AttemptCount"] == 2
            assert len(set(sagemaker.created())) == 2

    asyncio.run(story())


def test_a_stopped_execution_stops_its_job_and_begins_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        sagemaker = KeptSageMaker(held=True)
        async with open_pipelines(tmp_path, sagemaker) as api:
            await api.create(step("train"), step("make", "Model", Url=MODEL))
            arn = await api.start()
            await _job_of(api, arn)
            code, message = await api.refusal("DeletePipeline", PipelineName="p", ClientRequestToken="a")
            assert code == "ConflictException"
            assert arn in message
            await api("StopPipelineExecution", PipelineExecutionArn=arn, ClientRequestToken="a")
            assert (await api.ended(arn))["PipelineExecutionStatus"] == "Stopped"
            assert {name: one["StepStatus"] for name, one in (await api.steps(arn)).items()} == {"train": "Stopped"}
            code, _ = await api.refusal("StopPipelineExecution", PipelineExecutionArn=arn, ClientRequestToken="a")
            assert code == "ConflictException"
            await api("DeletePipeline", PipelineName="p", ClientRequestToken="a")
            code, _ = await api.refusal("DescribePipelineExecution", PipelineExecutionArn=arn)
            assert code == "ResourceNotFound"

    asyncio.run(story())


async def _job_of(api: PipelinesApi, arn: str) -> None:
    async def there() -> bool:
        return any(one.get("Metadata") for one in (await api.steps(arn)).values())

    await reached(there, 60.0, 0.01)


def test_an_execution_goes_on_after_a_restart_with_the_job_that_it_began(tmp_path: Path) -> None:
    async def story() -> None:
        sagemaker = KeptSageMaker(trained, held=True)
        async with open_pipelines(tmp_path, sagemaker) as api:
            await api.create(step("train"), step("make", "Model", Url=MODEL))
            arn = await api.start()
            await _job_of(api, arn)
        sagemaker.held = False
        async with open_pipelines(tmp_path, sagemaker) as api:
            assert (await api.ended(arn))["PipelineExecutionStatus"] == "Succeeded"
            assert len(sagemaker.created()) == 1

    asyncio.run(story())


def test_the_same_token_starts_one_execution(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_pipelines(tmp_path, KeptSageMaker()) as api:
            await api.create(step("train"))
            first, again, other = await api.start("a"), await api.start("a"), await api.start("b")
            assert first == again != other
            listed = await api("ListPipelineExecutions", PipelineName="p")
            assert len(listed["PipelineExecutionSummaries"]) == 2

    asyncio.run(story())


def test_a_pipeline_is_changed_and_its_executions_keep_their_definition(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_pipelines(tmp_path, KeptSageMaker()) as api:
            await api.create(step("train"))
            code, message = await api.refusal(
                "CreatePipeline", PipelineName="P", PipelineDefinition=_text(), RoleArn=ROLE
            )
            assert (code, "already exists" in message) == ("ValidationException", True)
            arn = await api.start()
            await api.ended(arn)
            await api("UpdatePipeline", PipelineName="p", PipelineDefinition=_text())
            described = await api("DescribePipeline", PipelineName="p")
            assert json.loads(described["PipelineDefinition"])["Steps"][0]["Name"] == "other"
            kept = await api("DescribePipelineDefinitionForExecution", PipelineExecutionArn=arn)
            assert json.loads(kept["PipelineDefinition"])["Steps"][0]["Name"] == "train"
            listed = await api("ListPipelines", PipelineNamePrefix="q")
            assert listed["PipelineSummaries"] == []

    asyncio.run(story())


def _text() -> str:
    return json.dumps({"Version": "2020-12-01", "Steps": [step("other")]})


@pytest.mark.parametrize(
    ("operation", "params", "said"),
    [
        ("CreatePipeline", {"PipelineName": "q", "RoleArn": ROLE}, "PipelineDefinition must be given"),
        ("CreatePipeline", {"PipelineDefinition": "no", "PipelineName": "q", "RoleArn": ROLE}, "must be JSON"),
        ("CreatePipeline", {"PipelineDefinitionS3Location": {}}, "PipelineDefinitionS3Location is not supported"),
        (
            "StartPipelineExecution",
            {"PipelineName": "p", "SelectiveExecutionConfig": {}},
            "SelectiveExec",
        ),
        (
            "StartPipelineExecution",
            {"PipelineName": "p", "PipelineParameters": [{"Name": "no", "Value": "1"}]},
            "no is no parameter of the pipeline",
        ),
        (
            "StartPipelineExecution",
            {"PipelineName": "p", "PipelineParameters": [{"Name": "n", "Value": "x"}]},
            "n must be of type Integer",
        ),
        ("StartPipelineExecution", {"PipelineName": "p"}, "n must be given"),
        ("DescribePipeline", {"PipelineName": "none"}, "pipeline/none' does not exist"),
        ("DescribePipelineExecution", {"PipelineExecutionArn": "arn:aws:x/none"}, "arn:aws:x/none' does not exist"),
        ("ListPipelineExecutionSteps", {}, "PipelineExecutionArn must be given"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(
    tmp_path: Path, operation: str, params: dict[str, Any], said: str
) -> None:
    async def story() -> None:
        async with open_pipelines(tmp_path, KeptSageMaker()) as api:
            await api.create(step("train"), Parameters=[{"Name": "n", "Type": "Integer"}])
            _, message = await api.refusal(operation, **params)
            assert said in message

    asyncio.run(story())


def test_names_of_resources_fit_and_are_the_same_for_the_same_try() -> None:
    for action in ACTIONS.values():
        name = resource_name(action, "0123456789ab", "A step_with a very long name " * 5, 1)
        assert len(name) <= action.name_max
        assert name == resource_name(action, "0123456789ab", "A step_with a very long name " * 5, 1)
        assert name != resource_name(action, "0123456789ab", "A step_with a very long name " * 5, 2)


def test_a_call_is_a_request_of_the_service(tmp_path: Path) -> None:
    """Its target, its region and its members."""
    seen: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope["headers"])
        seen.append((headers[b"x-amz-target"], b"/eu-west-1/sagemaker/" in headers[b"authorization"], await receive()))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b'{"ModelArn": "a"}'})

    calls = SageMakerCalls(lambda: app, everything, ROLE, "")
    answer = asyncio.run(calls("CreateModel", "eu-west-1", {"ModelName": "m"}))
    assert answer == {"ModelArn": "a"}
    body = {"type": "http.request", "body": b'{"ModelName": "m"}', "more_body": False}
    assert seen == [(b"SageMaker.CreateModel", True, body)]
