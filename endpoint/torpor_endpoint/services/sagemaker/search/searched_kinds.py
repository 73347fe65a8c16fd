"""Lists the kinds of resources that Search knows, and gives their records as SearchRecord shows them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from torpor_account.aws.service_models import Shape, service_model
from torpor_account.aws.wire.pruning import pruned
from torpor_endpoint.core.resource_records import EndpointRecord, ModelRecord
from torpor_endpoint.services.sagemaker import shapes
from torpor_endpoint.services.sagemaker.context import Control
from torpor_endpoint.services.sagemaker.endpoints import described
from torpor_endpoint.services.sagemaker.registry.package_shapes import group_summary, package_description
from torpor_endpoint.services.training import shapes as of_training
from torpor_endpoint.services.training.lifecycle import TrainingJob
from torpor_endpoint.services.transform import shapes as of_transform
from torpor_endpoint.services.transform.lifecycle import TransformJob
from torpor_endpoint.services.tuning import shapes as of_tuning
from torpor_endpoint.services.tuning.lifecycle import TuningJob

Wire = dict[str, Any]
Records = Iterable[tuple[str, Wire]]
"""Each record's ARN, and what SearchRecord shows of it."""


@dataclass(frozen=True)
class SearchedKind:
    """One kind. `member` of SearchRecord has its records, and `part` is the member of these that has the name, the tags
    and the times; empty where they have them themselves. `order` is the property to sort by where none is named."""

    resource: str
    member: str
    read: Callable[[], Records]
    order: str = "LastModifiedTime"
    part: str = ""

    @property
    def shape(self) -> Shape:
        """The shape of its records."""
        shape: Shape = service_model("sagemaker").shape_for("SearchRecord").members[self.member]
        return shape

    def records(self) -> Iterator[tuple[str, Wire]]:
        for arn, record in self.read():
            yield arn, pruned(record, self.shape)


def searched_kinds(
    control: Control,
    training_jobs: Callable[[], Iterable[TrainingJob]],
    tuning_jobs: Callable[[], Iterable[TuningJob]],
    transform_jobs: Callable[[], Iterable[TransformJob]],
) -> Mapping[str, SearchedKind]:
    """All kinds, by resource. The three give all jobs of their kind."""
    store = control.store

    def tagged(arn: str, record: Wire) -> tuple[str, Wire]:
        return arn, {**record, "Tags": shapes.tag_list(store.tags.of(arn))}

    def jobs() -> Records:
        return (tagged(job.arn, of_training.description(job)) for job in training_jobs())

    def tuning() -> Records:
        return (tagged(job.arn, of_tuning.description(job)) for job in tuning_jobs())

    def endpoints() -> Records:
        return (tagged(one.arn, described(control, one)) for one in store.endpoints())

    def models() -> Records:
        served, transformed = store.endpoints(), _last_by_model(transform_jobs())
        for model in (store.model(card.name) for card in store.model_cards()):
            if model is not None:  # it may have been deleted meanwhile
                arn, shown = tagged(model.arn, shapes.model_description(model))
                yield arn, _model_record(model, shown, served, transformed.get(model.name))

    def packages() -> Records:
        return (tagged(one.arn, package_description(one)) for one in store.packages.packages())

    def groups() -> Records:
        return (tagged(one.arn, group_summary(one)) for one in store.packages.groups())

    kinds = (
        SearchedKind("TrainingJob", "TrainingJob", jobs),
        SearchedKind("HyperParameterTuningJob", "HyperParameterTuningJob", tuning),
        SearchedKind("Endpoint", "Endpoint", endpoints),
        SearchedKind("Model", "Model", models, "CreationTime", "Model"),
        SearchedKind("ModelPackage", "ModelPackage", packages),
        SearchedKind("ModelPackageGroup", "ModelPackageGroup", groups, "CreationTime"),
    )
    return {kind.resource: kind for kind in kinds}


def _model_record(model: ModelRecord, shown: Wire, served: Iterable[EndpointRecord], last: TransformJob | None) -> Wire:
    endpoints = [
        shapes.endpoint_summary(one) for one in served if any(v.model_name == model.name for v in one.variants)
    ]
    return {"Model": shown, "Endpoints": endpoints, "LastBatchTransformJob": last and of_transform.description(last)}


def _last_by_model(jobs: Iterable[TransformJob]) -> dict[str, TransformJob]:
    return {job.request["ModelName"]: job for job in sorted(jobs, key=lambda job: job.created_s)}
