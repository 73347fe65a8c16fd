"""Finds who made a model's artifact: the packages that name it, and the training job that wrote it."""

from collections.abc import Iterable, Iterator
from typing import Any

from torpor_endpoint.core.pages.model_origins import Makers
from torpor_endpoint.core.registry.package_records import ModelPackage
from torpor_endpoint.services.jobs.job_records import JobRecords
from torpor_endpoint.services.training.lifecycle import TrainingJob
from torpor_endpoint.services.training.running.transport import results
from torpor_endpoint.storage.package_store import PackageStore

ARTIFACT = "model.tar.gz"


class ModelMakers:
    """Looks into the registry and the records of training jobs. Its methods block."""

    def __init__(self, packages: PackageStore, jobs: JobRecords[TrainingJob]) -> None:
        self._packages = packages
        self._jobs = jobs

    def of(self, url: str, digest: str) -> Makers:
        """Who made the artifact at this address."""
        job = self._job(url)
        packages = tuple(one.arn for one in self._packages.packages() if url in urls_of(one))
        if job is None:
            return Makers(packages)
        return Makers(packages, (job.arn,), tuple(data_of(job)))

    def _job(self, url: str) -> TrainingJob | None:
        """The training job that wrote the artifact: its name is in the address."""
        parts = url.split("/")
        job = self._jobs.get(parts[-3]) if len(parts) > 3 and parts[-2:] == ["output", ARTIFACT] else None
        return job if job is not None and artifact_of(job) == url else None


def artifact_of(job: TrainingJob) -> str:
    """The address of the model that the job writes."""
    return f"{results(job)}/{ARTIFACT}"


def data_of(job: TrainingJob) -> Iterator[str]:
    """The addresses of the data that the job read, in the order of its channels."""
    for channel in job.request.get("InputDataConfig", ()):
        uri = channel.get("DataSource", {}).get("S3DataSource", {}).get("S3Uri")
        if uri:
            yield uri


def urls_of(package: ModelPackage) -> Iterator[str]:
    """The addresses of the package's artifacts."""
    request = package.request
    specifications: Iterable[Any] = (
        request.get("InferenceSpecification", {}),
        *request.get("AdditionalInferenceSpecifications", ()),
    )
    for specification in specifications:
        for container in specification.get("Containers", ()):
            if url := container.get("ModelDataUrl"):
                yield url
            if source := container.get("ModelDataSource", {}).get("S3DataSource", {}).get("S3Uri"):
                yield source
