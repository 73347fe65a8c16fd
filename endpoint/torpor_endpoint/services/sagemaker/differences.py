"""Lists the known differences from AWS by operation. An operation without an entry has no known difference."""

from collections.abc import Mapping
from typing import Final

from torpor_endpoint.services.sagemaker.members.checking import kept, listed
from torpor_endpoint.services.sagemaker.members.known import Treatment

DIFFERENCES: Final[Mapping[str, str]] = {
    "CreateModel": "The artifact is checked when it is first used; with `--auth` the call fails if the role may not read it. Without `--auth` ExecutionRoleArn is a name only. EnableNetworkIsolation is for user scripts: other containers keep the network. Kept without effect: "
    f"{listed(Treatment.KEPT, 'CreateModelInput', 'ContainerDefinition', 'S3ModelDataSource')}. Refused by name: "
    f"{listed(Treatment.REFUSED, 'ContainerDefinition', 'S3ModelDataSource')}, and members that Torpor does not know.",
    "CreateEndpointConfig": "A variant may have MinInstanceCount 0, and one of many models ServerlessConfig; ShadowProductionVariants may stand beside "
    "several production variants, and have several entries; a serverless variant may have data capture; `--aws-strict` refuses all of these. The share of a shadow variant is its weight "
    "divided by the weight of all production variants, at most 1: AWS publishes no formula. "
    "This machine is never short of instances of a type: of InstancePools the one of the highest priority has all, with its ModelNameOverride, and VariantInstanceProvisionTimeoutInSeconds never ends. "
    "A variant of an asynchronous endpoint may have many models, and must be one of instances. Refuses explainers, and instance types that are not in the catalogue. "
    f"Kept without effect: {listed(Treatment.KEPT, 'CreateEndpointConfigInput')}, also the KmsKeyId of DataCaptureConfig; of a variant "
    f"{listed(Treatment.KEPT, 'ProductionVariant', 'ProductionVariantManagedInstanceScaling')}. Refused by name: "
    f"{listed(Treatment.REFUSED, 'CreateEndpointConfigInput', 'ProductionVariant')}, and members that Torpor does not know.",
    "CreateEndpoint": "The endpoint is in service after about a second. DeploymentConfig is kept for an UpdateEndpoint "
    "with RetainDeploymentConfig, which checks its alarms and its counts of instances.",
    "UpdateEndpoint": "A share of DeploymentConfig's traffic is exact on any number of instances: AWS turns it into "
    "instances. Serverless variants may be rolled out by shares; `--aws-strict` refuses that. Endpoints of "
    "inference components take no DeploymentConfig, and none brings or removes shadow variants. An update that leaves too little for the copies of inference components is refused, with AWS's "
    "reason for a copy that fits nowhere: what AWS does is not known. AWS publishes no texts of its "
    "refusals of a DeploymentConfig: they are Torpor's own. moto delivers the events of a deployment, to queues and "
    "log groups. As AWS documents, a failed endpoint can only be deleted.",
    "DeleteEndpoint": "The endpoint is gone after about a second. Its metrics and logs stay.",
    "CreateModelPackage": "A package is a record, and its status is Completed at once: nothing is validated. Of a package that is deployed Torpor takes the one container of its specification: its Image, ModelDataUrl "
    "or ModelDataSource, and Environment. Refuses SourceAlgorithmSpecification. A version without ModelApprovalStatus is PendingManualApproval, and CreateModel refuses it; AWS's text is not known.",
    "DescribeModelPackage": "CreatedBy is not told. IncludedData MetadataOnly leaves out ModelCard. ModelPackageName of a version is its group's name, as in moto: AWS's model requires it, and the answer of AWS's developer guide (View the Details of a Model Version) does not have it.",
    "DescribeModelPackageGroup": "CreatedBy is empty, and the status is Completed.",
    "UpdateModelPackage": "Where the group feeds prefixes (TORPOR_FED_BY), an approval puts a copy of the artifact there, and is refused if it cannot; every other status takes it back.",
    "PutModelPackageGroupPolicy": "The policy is kept and decides nothing: there is one account.",
    "BatchDescribeModelPackage": "Versions of groups alone. AWS's error codes for the others are not known: ValidationException.",
    "DeleteModelPackageGroup": "A group with versions is not deleted: ConflictException, in Torpor's words.",
    "ListMonitoringSchedules": "The list is always empty: Torpor makes no monitoring schedules.",
    "ListTags": "One answer lists all tags: a resource has 50 at most.",
}

WITHOUT_EFFECT: Final[Mapping[str, tuple[str, ...]]] = {
    operation: tuple(kept(f"{operation}{suffix}"))
    for operation, suffix in {
        "CreateModel": "Input",
        "CreateEndpointConfig": "Input",
        "CreateInferenceExperiment": "Request",
    }.items()
}
"""By operation, the members that are kept and shown without effect."""
