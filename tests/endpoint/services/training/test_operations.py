"""The refusals of the training operations, and their lists and descriptions."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from tests.endpoint.services.helpers.training_in_folder import SKLEARN, TrainingFolder, channel, job
from torpor_account.aws.in_process import client
from torpor_account.aws.service import Service
from torpor_endpoint.services.training.operations import OPERATIONS

IMAGE = {"TrainingImage": SKLEARN, "TrainingInputMode": "File"}
FILES = {"FileSystemId": "fs-0", "FileSystemAccessMode": "ro", "FileSystemType": "EFS", "DirectoryPath": "/"}


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"ResourceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 2, "VolumeSizeInGB": 1}}, "must be 1"),
        ({"AlgorithmSpecification": {**IMAGE, "TrainingImage": "a/pytorch-training:2"}}, "runs no other container"),
        ({"AlgorithmSpecification": {**IMAGE, "TrainingInputMode": "Pipe"}}, "Pipe is not supported"),
        ({"AlgorithmSpecification": {**IMAGE, "ContainerArguments": ["sh"]}}, "ContainerEntrypoint"),
        ({"InputDataConfig": [channel("a", "s3://b/c", InputMode="Pipe")]}, "Pipe is not supported"),
        ({"InputDataConfig": [{"ChannelName": "a", "DataSource": {"FileSystemDataSource": FILES}}]}, "Channel a"),
        ({"InputDataConfig": [channel("..", "s3://b/c")]}, "must name a folder"),
        ({"HyperParameters": {}}, "sagemaker_program must name the script"),
        ({"HyperParameters": {"sagemaker_program": "train.py"}}, "sagemaker_submit_directory"),
        (
            {
                "HyperParameters": {
                    "sagemaker_program": "train.py",
                    "sagemaker_submit_directory": "/opt/ml/input/data/code/sourcedir.tar.gz",
                }
            },
            "a channel that InputDataConfig does not have",
        ),
        ({"OutputDataConfig": {"S3OutputPath": "https://a/b"}}, "must begin with s3://"),
    ],
)
def test_a_job_that_cannot_run_here_is_refused_at_once(
    training: TrainingFolder, members: dict[str, Any], text: str
) -> None:
    async def story() -> None:
        async with training.open() as api:
            code, message = await api.refusal("CreateTrainingJob", **job(**members))
            assert code == "ValidationException"
            assert text in message
            assert (await api("ListTrainingJobs"))["TrainingJobSummaries"] == []

    asyncio.run(story())


def test_no_script_runs_where_scripts_are_refused(training: TrainingFolder) -> None:
    async def story() -> None:
        async with training.open() as api:
            refusing = replace(api, training=replace(api.training, scripts=False))
            _, message = await refusing.refusal("CreateTrainingJob", **job())
            assert "--refuse scripts" in message

    asyncio.run(story())


def test_names_are_taken_once_and_unknown_ones_are_not_found(training: TrainingFolder) -> None:
    async def story() -> None:
        training.script("")
        async with training.open() as api:
            await api.trained(Tags=[{"Key": "team", "Value": "houses"}])
            assert training.tags == {"arn:aws:sagemaker:us-east-1:123456789012:training-job/job": {"team": "houses"}}
            code, _ = await api.refusal("CreateTrainingJob", **job())
            assert code == "ResourceInUse"
            _, message = await api.refusal("StopTrainingJob", TrainingJobName="job")
            assert message == "The request was rejected because the training job is in status Completed."
            assert await api.refusal("DescribeTrainingJob", TrainingJobName="other") == (
                "ValidationException",
                "Requested resource not found.",
            )

    asyncio.run(story())


def test_a_job_that_is_over_can_be_deleted_and_leaves_its_name(training: TrainingFolder) -> None:
    async def story() -> None:
        training.script("")
        async with training.open() as api:
            await api.trained(Tags=[{"Key": "team", "Value": "houses"}])
            await api("DeleteTrainingJob", TrainingJobName="job")
            assert training.tags == {}
            assert (await api("ListTrainingJobs"))["TrainingJobSummaries"] == []
            training.script("import time; time.sleep(600)")
            await api("CreateTrainingJob", **job())
            _, message = await api.refusal("DeleteTrainingJob", TrainingJobName="job")
            assert "is in status InProgress" in message
            await api("StopTrainingJob", TrainingJobName="job")

    asyncio.run(story())


def test_boto3_reads_descriptions_and_lists(training: TrainingFolder) -> None:
    async def made() -> None:
        async with training.open() as api:
            training.script("raise SystemExit(1)")
            await api.trained(name="badly")
            training.script("")
            await api.trained(name="well", EnableManagedSpotTraining=True)

    async def read() -> Any:
        async with training.open() as api:
            service = Service("sagemaker", api.training, OPERATIONS, account="123456789012")
            return await asyncio.to_thread(asked, client(service))

    def asked(sagemaker: Any) -> Any:
        failed = sagemaker.list_training_jobs(StatusEquals="Failed")["TrainingJobSummaries"]
        return failed, sagemaker.describe_training_job(TrainingJobName="well")

    asyncio.run(made())
    (failed,), well = asyncio.run(read())
    assert (failed["TrainingJobName"], failed["TrainingJobStatus"]) == ("badly", "Failed")
    assert well["EnableManagedSpotTraining"]
    assert well["OutputDataConfig"]["KmsKeyId"] == ""  # SageMaker's SDK indexes it
    assert well["TrainingEndTime"] >= well["TrainingStartTime"] >= well["CreationTime"]
    assert all(past["StatusMessage"] for past in well["SecondaryStatusTransitions"])
    assert not [name for name, value in well.items() if value in ({}, [], None)]
