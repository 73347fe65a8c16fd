"""SageMaker processing in a folder, without an endpoint: real records, a real object store, real processes."""

import asyncio
import inspect
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.endpoint.helpers.model_artifacts import put
from tests.endpoint.services.helpers.training_in_folder import SKLEARN
from tests.helpers.waiting import PATIENCE_S
from torpor_account.aws.calls import Call
from torpor_account.aws.errors import AwsError
from torpor_account.s3.access.embedded import EmbeddedStorage
from torpor_account.s3.object_store import ObjectStore
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_container.processes.zygote_client import ZygoteClient
from torpor_endpoint.services.jobs.job_queue import JobQueue
from torpor_endpoint.services.jobs.job_records import JobRecords
from torpor_endpoint.services.jobs.scripts.script_runs import ScriptSite
from torpor_endpoint.services.processing.lifecycle import ProcessingJob
from torpor_endpoint.services.processing.operations import OPERATIONS, Processing
from torpor_endpoint.services.processing.running.processing_work import ProcessingWork
from torpor_endpoint.storage.schema import RECORDS


@dataclass(frozen=True)
class ProcessingFolder:
    """One folder. `bucket` is the bucket's folder."""

    folder: Path
    zygote: ZygoteClient

    @property
    def bucket(self) -> Path:
        return self.folder / "s3" / "bucket"

    def log(self, name: str = "job") -> str:
        (path,) = (self.folder / "logs" / name).glob("algo-1-*.log")
        return path.read_text()

    def script(self, source: str) -> None:
        """Upload `clean.py`."""
        put(self.bucket, {"code/clean.py": source.encode()})

    @asynccontextmanager
    async def open(self, grace_s: float = 20.0) -> AsyncIterator["ProcessingApi"]:
        """One life of the endpoint."""
        self.bucket.mkdir(parents=True, exist_ok=True)
        database, objects = SqliteFile(self.folder / "torpor.sqlite", RECORDS), ObjectStore(self.folder / "s3")
        jobs = JobRecords(database, "processing_jobs", ProcessingJob, time.time)
        storage, fork = EmbeddedStorage(objects), self.zygote.fork
        folder, logs = self.folder / "processing", self.folder / "logs"
        site = ScriptSite(folder, logs, storage, fork, {}, ("OWNERS_",), 2, time.time, grace_s)

        def said(job: ProcessingJob, message: str) -> None:
            jobs.update(job, lambda now: replace(now, exit_message=message))

        queue = JobQueue(jobs, ProcessingWork(site, said))
        await queue.start()
        try:
            yield ProcessingApi(Processing(jobs, queue, lambda arn, tags: None, lambda arn: None, time.time))
        finally:
            await queue.close()
            objects.close()
            database.close()


@dataclass(frozen=True)
class ProcessingApi:
    processing: Processing

    async def __call__(self, operation: str, **params: Any) -> Any:
        answer = OPERATIONS[operation](self.processing, Call(operation, params, "us-east-1", "123456789012", "id"))
        return await answer if inspect.isawaitable(answer) else answer

    async def refusal(self, operation: str, **params: Any) -> str:
        """The message of a refused call."""
        try:
            await self(operation, **params)
        except AwsError as error:
            return error.message
        raise AssertionError(f"{operation} was not refused")

    async def describe(self, name: str = "job") -> Any:
        return await self("DescribeProcessingJob", ProcessingJobName=name)

    async def ended(self, name: str = "job") -> Any:
        """DescribeProcessingJob's answer once the job has ended."""
        await asyncio.wait_for(self.processing.queue.ended(name), PATIENCE_S)
        return await self.describe(name)

    async def processed(self, **members: Any) -> Any:
        await self("CreateProcessingJob", **job(**members))
        return await self.ended()


def job(**members: Any) -> dict[str, Any]:
    """A CreateProcessingJob request for `clean.py`, as SDK v2's SKLearnProcessor makes it."""
    return {
        "ProcessingJobName": "job",
        "RoleArn": "arn:aws:iam::123456789012:role/processing",
        "AppSpecification": application(),
        "ProcessingInputs": [given("code", "s3://bucket/code/clean.py", "input/code")],
        "ProcessingOutputConfig": {"Outputs": [output("out", "s3://bucket/clean/", "output")]},
        "ProcessingResources": {
            "ClusterConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 30}
        },
        **members,
    }


def application(*arguments: str, **members: Any) -> dict[str, Any]:
    entrypoint = ["python3", "/opt/ml/processing/input/code/clean.py"]
    more = {"ContainerArguments": list(arguments)} if arguments else {}
    return {"ImageUri": SKLEARN, "ContainerEntrypoint": entrypoint, **more, **members}


def given(name: str, uri: str, path: str, **members: Any) -> dict[str, Any]:
    local = f"/opt/ml/processing/{path}"
    source = {"S3Uri": uri, "LocalPath": local, "S3DataType": "S3Prefix", "S3InputMode": "File", **members}
    return {"InputName": name, "S3Input": source}


def output(name: str, uri: str, path: str, **members: Any) -> dict[str, Any]:
    target = {"S3Uri": uri, "LocalPath": f"/opt/ml/processing/{path}", "S3UploadMode": "EndOfJob", **members}
    return {"OutputName": name, "S3Output": target}
