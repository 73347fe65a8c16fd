"""Writes inference experiments in the API's shapes. `aws.wire.pruning` removes members that are None."""

from typing import Any

from torpor_endpoint.core.resource_records import EndpointRecord
from torpor_endpoint.services.sagemaker.experiments import experiment_variants
from torpor_endpoint.services.sagemaker.experiments.lifecycle import InferenceExperiment

SETTINGS = ("Type", "Description", "RoleArn", "ModelVariants", "DataStorageConfig", "ShadowModeConfig", "KmsKey")
"""The members of CreateInferenceExperiment that are kept as sent."""


def summary(experiment: InferenceExperiment) -> dict[str, Any]:
    return {
        "Name": experiment.name,
        "Type": experiment.settings["Type"],
        "Schedule": {"StartTime": experiment.start_s, "EndTime": experiment.end_s},
        "Status": experiment.status.value,
        "StatusReason": experiment.reason,
        "Description": experiment.settings.get("Description"),
        "CreationTime": experiment.created_s,
        "CompletionTime": experiment.completed_s,
        "LastModifiedTime": experiment.modified_s,
        "RoleArn": experiment.settings["RoleArn"],
    }


def description(experiment: InferenceExperiment, endpoint: EndpointRecord | None) -> dict[str, Any]:
    """`endpoint` is the experiment's; None if it was deleted."""
    return {
        **experiment.settings,
        **summary(experiment),
        "Arn": experiment.arn,
        "EndpointMetadata": _endpoint_metadata(experiment, endpoint),
        "ModelVariants": [
            {**variant, "Status": experiment_variants.status(variant["VariantName"], endpoint, experiment)}
            for variant in experiment.settings["ModelVariants"]
        ],
    }


def _endpoint_metadata(experiment: InferenceExperiment, endpoint: EndpointRecord | None) -> dict[str, Any]:
    if endpoint is None:
        return {"EndpointName": experiment.endpoint_name}
    return {
        "EndpointName": endpoint.name,
        "EndpointConfigName": endpoint.config_name,
        "EndpointStatus": endpoint.status.value,
        "FailureReason": endpoint.failure_reason and endpoint.failure_reason[:1024],
    }
