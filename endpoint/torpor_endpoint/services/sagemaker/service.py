"""SageMaker's control plane as a service: its operations in one table. Those on inference components are in
`components/`, on inference experiments in `experiments/`, on jobs of every kind in
`services/job_kinds.py`."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from torpor_account.aws.calls import Call, Operation, bound
from torpor_account.aws.service import BODY_LIMIT_BYTES, Service
from torpor_endpoint.services.jobs.job_roles import any_role
from torpor_endpoint.services.pipelines import execution_operations as executions
from torpor_endpoint.services.pipelines import pipeline_operations as pipelines
from torpor_endpoint.services.processing import operations as processing
from torpor_endpoint.services.recommendations import recommendation_operations as recommendations
from torpor_endpoint.services.sagemaker import endpoint_configs, endpoints, models, tag_operations
from torpor_endpoint.services.sagemaker.components import component_operations as components
from torpor_endpoint.services.sagemaker.context import Control
from torpor_endpoint.services.sagemaker.experiments import operations as experiments
from torpor_endpoint.services.sagemaker.left_out import empty_list_operations as empty_lists
from torpor_endpoint.services.sagemaker.left_out.operation_refusals import refused
from torpor_endpoint.services.sagemaker.lineage import lineage_operations as lineage
from torpor_endpoint.services.sagemaker.lineage.lineage_context import Lineage
from torpor_endpoint.services.sagemaker.registry import package_group_operations as groups
from torpor_endpoint.services.sagemaker.registry import package_operations as packages
from torpor_endpoint.services.sagemaker.search import search_operations as search
from torpor_endpoint.services.sagemaker.search.searched_kinds import searched_kinds
from torpor_endpoint.services.sagemaker_parts import SageMakerParts
from torpor_endpoint.services.training import operations as training
from torpor_endpoint.services.transform import operations as transform
from torpor_endpoint.services.tuning import operations as tuning

if TYPE_CHECKING:
    from torpor_account.core.access.rights.right_rows import Rights

KEPT = ("Tags", "InferenceExperiments", "Results", *pipelines.KEPT, *empty_lists.KEPT)
"""Lists that clients index without looking: ListTags answers an empty one, as AWS does."""

NOTHING_MORE: Mapping[str, Operation[Control]] = MappingProxyType({})

OPERATIONS: dict[str, Callable[[Control, Call], dict[str, Any]]] = {
    **empty_lists.OPERATIONS,  # first, so that an operation that Torpor carries out takes its place
    "CreateModel": models.create_model,
    "DescribeModel": models.describe_model,
    "ListModels": models.list_models,
    "DeleteModel": models.delete_model,
    "CreateEndpointConfig": endpoint_configs.create_endpoint_config,
    "DescribeEndpointConfig": endpoint_configs.describe_endpoint_config,
    "ListEndpointConfigs": endpoint_configs.list_endpoint_configs,
    "DeleteEndpointConfig": endpoint_configs.delete_endpoint_config,
    "CreateEndpoint": endpoints.create_endpoint,
    "DescribeEndpoint": endpoints.describe_endpoint,
    "ListEndpoints": endpoints.list_endpoints,
    "UpdateEndpoint": endpoints.update_endpoint,
    "UpdateEndpointWeightsAndCapacities": endpoints.update_endpoint_weights_and_capacities,
    "DeleteEndpoint": endpoints.delete_endpoint,
    **components.OPERATIONS,
    **groups.OPERATIONS,
    **packages.OPERATIONS,
    "AddTags": tag_operations.add_tags,
    "ListTags": tag_operations.list_tags,
    "DeleteTags": tag_operations.delete_tags,
    "ListMonitoringSchedules": endpoints.list_monitoring_schedules,
}


def service(
    control: Control, *, account: str, more: Mapping[str, Operation[Control]] = NOTHING_MORE
) -> Service[Control]:
    """`more` are operations that bring their own context."""
    operations = {**OPERATIONS, **more}
    return Service(
        "sagemaker",
        control,
        operations,
        account=account,
        kept=KEPT,
        otherwise=refused,
        rights=_rights,
        body_limit_bytes=BODY_LIMIT_BYTES,
    )


def _rights() -> "Rights":
    from torpor_endpoint.core.rights import SAGEMAKER

    return SAGEMAKER


def compose(parts: SageMakerParts) -> Service[Control]:
    scripts = "scripts" not in parts.options.refused
    model_data = parts.control.model_data
    check_role = any_role if model_data is None else model_data.check_assumed
    tags = parts.store.tags
    jobs = parts.jobs.made()
    shared = (tags.put, tags.forget, parts.clock, scripts, check_role)
    trained = training.Training(jobs.training_records, jobs.training, *shared)
    processed = processing.Processing(jobs.processing_records, jobs.processing, *shared)
    tuned = tuning.Tuning(jobs.tuning_records, jobs.tuning, *shared, jobs.tuning_work.current)
    transforming = transform.Transforming(
        jobs.transform_records, jobs.transform, *shared, store=parts.store, strict=parts.options.strict
    )
    recommending = recommendations.Recommending(jobs.recommendation_records, jobs.recommending, *shared)
    piped = pipelines.Pipelines(
        jobs.pipelines,
        jobs.execution_records,
        jobs.executions,
        tags.put,
        tags.forget,
        parts.clock,
        not parts.options.auth or model_data is not None,
        check_role,
    )
    tracked = Lineage(parts.store, jobs.training_records.all, parts.clock)
    kinds = searched_kinds(parts.control, jobs.training_records.all, jobs.tuning_work.all, jobs.transform_records.all)
    more = {
        **bound(lineage.OPERATIONS, tracked),
        **bound(search.OPERATIONS, search.Searching(kinds)),
        **bound(training.OPERATIONS, trained),
        **bound(processing.OPERATIONS, processed),
        **bound(transform.OPERATIONS, transforming),
        **bound(tuning.OPERATIONS, tuned),
        **bound({**pipelines.OPERATIONS, **executions.OPERATIONS}, piped),
        **bound(experiments.OPERATIONS, parts.experimenting),
        **bound(recommendations.OPERATIONS, recommending),
    }
    return service(parts.control, account=parts.account, more=more)
