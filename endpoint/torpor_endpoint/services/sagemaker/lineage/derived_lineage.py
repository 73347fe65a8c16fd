"""Makes lineage of the records of jobs, packages and endpoints, as AWS does when they are created.

AWS, "Amazon SageMaker-Created Tracking Entities": a trial component for each job; artifacts for its image, for the data
of each channel by its S3Uri, and for its model; a context for each group of packages and each endpoint, an artifact for
each package, and an action for each deployment. Nothing is stored: an entity is there as long as its record is.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from torpor_endpoint.core.lineage.lineage_records import (
    SEGMENTS,
    EntityKind,
    LineageAssociation,
    LineageEntity,
    artifact_name,
    association,
)
from torpor_endpoint.core.registry.package_records import ModelPackage
from torpor_endpoint.core.resource_records import EndpointRecord
from torpor_endpoint.services.sagemaker.lineage.model_makers import artifact_of, data_of, urls_of
from torpor_endpoint.services.training.lifecycle import TrainingJob, TrainingStage

TRAINING, MODEL, DATA, IMAGE = "SageMakerTrainingJob", "Model", "DataSet", "Image"
GROUP, ENDPOINT, DEPLOYMENT = "ModelGroup", "Endpoint", "ModelDeployment"
CONTRIBUTED, PRODUCED, ASSOCIATED = "ContributedTo", "Produced", "AssociatedWith"

Made = Iterator[LineageEntity | LineageAssociation]


@dataclass(frozen=True)
class DerivedLineage:
    """`root` is the beginning of every ARN: `arn:aws:sagemaker:<region>:<account>`."""

    root: str

    def of_job(self, job: TrainingJob) -> Made:
        component = self._entity(
            EntityKind.TRIAL_COMPONENT, f"{job.name}-aws-training-job", TRAINING, job.arn, job.created_s
        )
        yield component
        if image := job.request.get("AlgorithmSpecification", {}).get("TrainingImage"):
            yield from self._edge(self._artifact(image, IMAGE, job.created_s), component, CONTRIBUTED)
        for uri in data_of(job):
            yield from self._edge(self._artifact(uri, DATA, job.created_s), component, CONTRIBUTED)
        if job.stage is TrainingStage.COMPLETED:
            yield from self._edge(component, self._artifact(artifact_of(job), MODEL, job.modified_s), PRODUCED)

    def of_package(self, package: ModelPackage) -> Made:
        made = self._artifact(package.arn, MODEL, package.created_s)
        yield made
        for url in urls_of(package):
            yield from self._edge(self._artifact(url, MODEL, package.created_s), made, CONTRIBUTED)
        if package.group_name:
            arn = f"{self.root}:model-package-group/{package.group_name.lower()}"
            group = self._entity(
                EntityKind.CONTEXT, f"{package.group_name}-aws-model-group", GROUP, arn, package.created_s
            )
            yield from self._edge(made, group, ASSOCIATED)

    def of_endpoint(self, endpoint: EndpointRecord) -> Made:
        at_s = endpoint.created_s
        context = self._entity(EntityKind.CONTEXT, f"{endpoint.name}-aws-endpoint", ENDPOINT, endpoint.arn, at_s)
        name = f"{endpoint.name}-aws-model-deployment"
        deployment = self._entity(EntityKind.ACTION, name, DEPLOYMENT, endpoint.arn, at_s)
        yield from self._edge(deployment, context, ASSOCIATED)
        for variant in endpoint.variants:
            for container in variant.containers:
                if container.model_data_url:
                    model = self._artifact(container.model_data_url, MODEL, at_s)
                    yield from self._edge(model, deployment, CONTRIBUTED)

    def _edge(self, source: LineageEntity, destination: LineageEntity, type: str) -> Made:
        created_s = max(source.created_s, destination.created_s)
        yield from (source, destination, association(source.name, destination.name, type, created_s, kept=False))

    def _artifact(self, uri: str, type: str, at_s: float) -> LineageEntity:
        arn = f"{self.root}:{SEGMENTS[EntityKind.ARTIFACT]}/{artifact_name(uri)}"
        return LineageEntity(arn, EntityKind.ARTIFACT, "", type, {"SourceUri": uri}, at_s, at_s, kept=False)

    def _entity(self, kind: EntityKind, title: str, type: str, source: str, at_s: float) -> LineageEntity:
        arn = f"{self.root}:{SEGMENTS[kind]}/{title.lower()}"
        return LineageEntity(arn, kind, title, type, {"SourceUri": source}, at_s, at_s, kept=False)
