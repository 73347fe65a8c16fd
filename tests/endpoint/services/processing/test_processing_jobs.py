"""Processing jobs: what their scripts see, what becomes of their outputs, and how they fail, stop and go."""

import asyncio
import json
from typing import Any

import pytest

from tests.endpoint.helpers.model_artifacts import put
from tests.endpoint.services.helpers.processing_in_folder import ProcessingFolder, application, given, job, output
from tests.helpers.waiting import reached
from torpor_container.processes.namespaces import available

CLEAN = """
import json, os, sys
from pathlib import Path
base = Path("/opt/ml/processing")
rows = [line for file in sorted((base / "input/rows").rglob("*.csv")) for line in file.read_text().splitlines()]
seen = {"arguments": sys.argv[1:], "mine": os.environ["MINE"], "owner": os.environ.get("OWNERS_SECRET"),
        "job": json.loads(Path("/opt/ml/config/processingjobconfig.json").read_text())["ProcessingJobName"]}
(base / "output/parts").mkdir()
(base / "output/parts/rows.csv").write_text("\\n".join(rows))
(base / "output/seen.json").write_text(json.dumps(seen))
Path("/opt/ml/output/message").write_text("cleaned")
print("rows:", len(rows))
"""
needs_namespaces = pytest.mark.skipif(not available(), reason="the machine allows no mount namespace")


@needs_namespaces
def test_a_script_reads_its_inputs_and_its_outputs_are_uploaded(processing: ProcessingFolder) -> None:
    async def story() -> None:
        processing.script(CLEAN)
        put(processing.bucket, {"rows/a.csv": b"1\n2", "rows/more/b.csv": b"3"})
        inputs = [
            given("code", "s3://bucket/code/clean.py", "input/code"),
            given("rows", "s3://bucket/rows", "input/rows"),
        ]
        async with processing.open() as api:
            described = await api.processed(
                ProcessingInputs=inputs, AppSpecification=application("--split", "0.2"), Environment={"MINE": "yes"}
            )
        assert described["ProcessingJobStatus"] == "Completed", processing.log()
        assert (described["ExitMessage"], described.get("FailureReason")) == ("cleaned", None)
        assert (processing.bucket / "clean/parts/rows.csv").read_text() == "1\n2\n3"
        seen = json.loads((processing.bucket / "clean/seen.json").read_text())
        assert seen == {"arguments": ["--split", "0.2"], "mine": "yes", "owner": None, "job": "job"}
        assert "rows: 3" in processing.log()
        assert not (processing.folder / "processing" / "job").exists()

    asyncio.run(story())


def test_a_failing_script_tells_its_code_and_uploads_nothing(processing: ProcessingFolder) -> None:
    async def story() -> None:
        processing.script("import sys; print('no such column'); sys.exit(3)")
        async with processing.open() as api:
            described = await api.processed()
        reason = 'AlgorithmError: See job logs for more information, exit code: 3. Last line: "no such column"'
        assert (described["ProcessingJobStatus"], described["FailureReason"]) == ("Failed", reason)
        assert not (processing.bucket / "clean").exists()

    asyncio.run(story())


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"ProcessingInputs": [given("rows", "s3://bucket/none/", "input")]}, "No S3 objects found"),
        ({"ProcessingOutputConfig": {"Outputs": [output("out", "s3://nowhere/x", "output")]}}, "Output upload failed"),
        ({"AppSpecification": application(ContainerEntrypoint=["no-such-program"])}, "has no program no-such-program"),
    ],
)
def test_a_job_that_cannot_run_says_why(processing: ProcessingFolder, members: dict[str, Any], reason: str) -> None:
    async def story() -> None:
        processing.script("")
        async with processing.open() as api:
            described = await api.processed(**members)
        assert described["ProcessingJobStatus"] == "Failed"
        assert described["FailureReason"].startswith("ClientError: ")
        assert reason in described["FailureReason"]

    asyncio.run(story())


def test_a_stopped_job_ends_its_script_and_a_long_one_is_stopped(processing: ProcessingFolder) -> None:
    async def story() -> None:
        processing.script("import time; print('begun', flush=True); time.sleep(600)")
        async with processing.open(grace_s=1.0) as api:
            await api("CreateProcessingJob", **job())

            async def begun() -> bool:
                return any("begun\n" in path.read_text() for path in (processing.folder / "logs").rglob("*.log"))

            await reached(begun, 60.0, 0.01)
            assert "InProgress" in await api.refusal("DeleteProcessingJob", ProcessingJobName="job")
            await api("StopProcessingJob", ProcessingJobName="job")
            assert (await api.ended())["ProcessingJobStatus"] == "Stopped"
            assert "Stopped" in await api.refusal("StopProcessingJob", ProcessingJobName="job")
            await api("DeleteProcessingJob", ProcessingJobName="job")
            assert "job" in await api.refusal("DescribeProcessingJob", ProcessingJobName="job")
            described = await api.processed(StoppingCondition={"MaxRuntimeInSeconds": 1})
            assert described["ProcessingJobStatus"] == "Stopped"
            assert not (processing.bucket / "clean").exists()

    asyncio.run(story())


@pytest.mark.parametrize(
    ("members", "names"),
    [
        ({"AppSpecification": application(ImageUri="mine:1")}, "AppSpecification.ImageUri"),
        ({"AppSpecification": {"ImageUri": "torpor"}}, "AppSpecification.ContainerEntrypoint"),
        ({"ProcessingResources": {"ClusterConfig": {"InstanceCount": 2, "VolumeSizeInGB": 1}}}, "InstanceCount"),
        ({"ProcessingInputs": [given("x", "s3://b/k", "input")] * 2}, "InputName"),
        ({"ProcessingInputs": [{"InputName": "x", "DatasetDefinition": {}}]}, "Input x: DatasetDefinition"),
        ({"ProcessingInputs": [{"InputName": "x"}]}, "Input x: S3Input"),
        ({"ProcessingInputs": [given("x", "s3://b/k", "i", S3DataType="ManifestFile")]}, "S3DataType"),
        ({"ProcessingInputs": [given("x", "s3://b/k", "i", S3InputMode="Pipe")]}, "S3InputMode"),
        ({"ProcessingInputs": [given("x", "https://b/k", "i")]}, "S3Uri"),
        ({"ProcessingInputs": [given("x", "s3://b/k", "../../etc")]}, "LocalPath"),
        ({"ProcessingInputs": [given("x", "s3://b/k", "i", LocalPath="/tmp/x")]}, "LocalPath"),
        (
            {"ProcessingOutputConfig": {"Outputs": [output("o", "s3://b/k", "o", S3UploadMode="Continuous")]}},
            "EndOfJob",
        ),
        (
            {"ProcessingOutputConfig": {"Outputs": [{"OutputName": "o", "FeatureStoreOutput": {}}]}},
            "FeatureStoreOutput",
        ),
        ({"ProcessingOutputConfig": {"Outputs": [output("o", "s3://b/k", "o/../../..")]}}, "LocalPath"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(
    processing: ProcessingFolder, members: dict[str, Any], names: str
) -> None:
    async def story() -> None:
        async with processing.open() as api:
            assert names in await api.refusal("CreateProcessingJob", **job(**members))
            assert (await api("ListProcessingJobs"))["ProcessingJobSummaries"] == []

    asyncio.run(story())


def test_a_name_is_taken_until_its_job_is_deleted(processing: ProcessingFolder) -> None:
    async def story() -> None:
        processing.script("")
        async with processing.open() as api:
            await api.processed()
            assert "already" in await api.refusal("CreateProcessingJob", **job())
            await api("DeleteProcessingJob", ProcessingJobName="job")
            assert (await api.processed())["ProcessingJobStatus"] == "Completed"

    asyncio.run(story())
