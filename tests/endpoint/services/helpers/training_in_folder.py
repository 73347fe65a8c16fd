"""SageMaker training in a folder, without an endpoint: real records, a real object store, real processes."""

import asyncio
import inspect
import io
import tarfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.endpoint.helpers.model_artifacts import packed, put
from tests.helpers.waiting import PATIENCE_S, reached
from torpor_account.aws.calls import Call
from torpor_account.aws.errors import AwsError
from torpor_account.s3.access.embedded import EmbeddedStorage
from torpor_account.s3.object_store import ObjectStore
from torpor_account.storage.databases.database import Database
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_container.processes.zygote_client import ZygoteClient
from torpor_endpoint.services.jobs.job_queue import JobQueue
from torpor_endpoint.services.jobs.job_records import JobRecords
from torpor_endpoint.services.jobs.scripts.script_runs import ScriptSite
from torpor_endpoint.services.training.lifecycle import TrainingJob
from torpor_endpoint.services.training.operations import OPERATIONS, Training
from torpor_endpoint.services.training.running.training_work import TrainingWork
from torpor_endpoint.storage.schema import RECORDS

SKLEARN = "683313688378.dkr.ecr.us-east-1.amazonaws.com/sagemaker-scikit-learn:1.2-1-cpu-py3"
XGBOOST = "683313688378.dkr.ecr.us-east-1.amazonaws.com/sagemaker-xgboost:1.7-1"
FORGOTTEN = "OWNERS_"
"""A variable of the zygote begins so, and no script is to see it."""
CODE = "s3://bucket/code/sourcedir.tar.gz"


@dataclass(frozen=True)
class TrainingFolder:
    """One folder, over as many lives of the endpoint as a test needs. `bucket` is the bucket's folder."""

    folder: Path
    zygote: ZygoteClient
    tags: dict[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def bucket(self) -> Path:
        return self.folder / "s3" / "bucket"

    @property
    def jobs_folder(self) -> Path:
        return self.folder / "training"

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    def log(self, name: str) -> str:
        (path,) = (self.logs / name).glob("algo-1-*.log")
        return path.read_text()

    def script(self, source: str) -> None:
        """Upload `train.py`."""
        put(self.bucket, {"code/sourcedir.tar.gz": sourcedir(source)})

    def members(self, key: str) -> dict[str, bytes]:
        """The members of an archive that a job has put."""
        with tarfile.open(fileobj=io.BytesIO((self.bucket / key).read_bytes())) as tar:
            files = {entry.name: tar.extractfile(entry) for entry in tar.getmembers() if entry.isfile()}
            return {name: file.read() for name, file in files.items() if file is not None}

    @asynccontextmanager
    async def open(self, at_once: int = 1, grace_s: float = 20.0) -> AsyncIterator["TrainingApi"]:
        """One life of the endpoint."""
        self.bucket.mkdir(parents=True, exist_ok=True)
        database, objects = SqliteFile(self.folder / "torpor.sqlite", RECORDS), ObjectStore(self.folder / "s3")
        jobs = JobRecords(database, "training_jobs", TrainingJob, time.time)
        storage, fork = EmbeddedStorage(objects), self.zygote.fork
        site = ScriptSite(self.jobs_folder, self.logs, storage, fork, {}, (FORGOTTEN,), 2, time.time, grace_s)
        trainer = JobQueue(jobs, TrainingWork(site), at_once)
        await trainer.start()
        try:
            yield TrainingApi(
                Training(jobs, trainer, self.tags.__setitem__, self.tags.__delitem__, time.time), database
            )
        finally:
            await trainer.close()
            objects.close()
            database.close()


@dataclass(frozen=True)
class TrainingApi:
    training: Training
    database: Database

    async def __call__(self, operation: str, **params: Any) -> Any:
        call = Call(operation, params, "us-east-1", "123456789012", "id")
        answer = OPERATIONS[operation](self.training, call)
        return await answer if inspect.isawaitable(answer) else answer

    async def refusal(self, operation: str, **params: Any) -> tuple[str, str]:
        """The code and the message of a refused call."""
        try:
            await self(operation, **params)
        except AwsError as error:
            return error.code, error.message
        raise AssertionError(f"{operation} was not refused")

    async def describe(self, name: str = "job") -> Any:
        return await self("DescribeTrainingJob", TrainingJobName=name)

    async def trained(self, **members: Any) -> Any:
        """Creates a job. Returns DescribeTrainingJob's answer once the job has ended."""
        params = job(**members)
        await self("CreateTrainingJob", **params)
        await asyncio.wait_for(self.training.queue.ended(params["TrainingJobName"]), PATIENCE_S)
        return await self.describe(params["TrainingJobName"])

    async def reached(self, stage: str, name: str = "job") -> None:
        async def there() -> bool:
            return bool((await self.describe(name))["SecondaryStatus"] == stage)

        await reached(there, 60.0, 0.01)


def sourcedir(source: str) -> bytes:
    """The archive that SageMaker's SDK makes of a `train.py`."""
    return packed({"train.py": source})


def job(name: str = "job", hyperparameters: Mapping[str, str] | None = None, **members: Any) -> dict[str, Any]:
    """A CreateTrainingJob request for `train.py` of a scikit-learn image, unless its members say otherwise."""
    script = {"sagemaker_program": '"train.py"', "sagemaker_submit_directory": f'"{CODE}"'}
    return {
        "TrainingJobName": name,
        "RoleArn": "arn:aws:iam::123456789012:role/training",
        "AlgorithmSpecification": {"TrainingImage": SKLEARN, "TrainingInputMode": "File"},
        "HyperParameters": {**script, **(hyperparameters or {})},
        "OutputDataConfig": {"S3OutputPath": "s3://bucket/jobs/"},
        "ResourceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 10},
        "StoppingCondition": {"MaxRuntimeInSeconds": 60},
        **members,
    }


def channel(name: str, uri: str, **members: Any) -> dict[str, Any]:
    return {
        "ChannelName": name,
        "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": uri}},
        **members,
    }
