"""What each operation of SageMaker needs, and of what scales its variants: the endpoint's rows beside the account's.

https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonsagemaker.html
"""

from collections.abc import Mapping, Sequence
from typing import Any

from torpor_account.core.access.conditions import TARGET_MODEL
from torpor_account.core.access.needs import AccessNeed, AccessPlace
from torpor_account.core.access.rights.right_rows import (
    Params,
    Resources,
    Rights,
    anything,
    both,
    members,
    rows,
    target_name,
    unnamed,
)
from torpor_endpoint.core.left_out.empty_lists import EMPTY_LISTS

TARGET_CONTAINER = "sagemaker:targetcontainerhostname"

INVOCATIONS = ("InvokeEndpoint", "InvokeEndpointAsync", "InvokeEndpointWithResponseStream")
"""The operations of the runtime."""


def invocation(
    operation: str, endpoint: str, target: str | None, place: AccessPlace, container: str | None = None
) -> AccessNeed:
    """What a call of the runtime needs. `target` and `container` are the values of the headers that name a target model
    and a target container.

    AWS's own documents differ on the right for streams: one has InvokeEndpoint, the other an action for them alone.
    """
    actions = [f"sagemaker:{operation}"]
    if operation == "InvokeEndpointWithResponseStream":
        actions.append("sagemaker:InvokeEndpoint")
    keys = {} if target is None else {TARGET_MODEL: (target_name(target),)}
    if container:  # an empty header asks for nothing
        keys[TARGET_CONTAINER] = (container,)
    return AccessNeed(tuple(actions), place.arn("sagemaker", f"endpoint/{endpoint.lower()}"), keys)


def sagemaker_arn(given: str) -> str:
    """The ARN of the resource that a call means. AWS has SageMaker's ARNs in lower case; a caller may have made one
    from a name with capitals."""
    return given.lower()


def _sagemaker(kind: str, member: str) -> Resources:
    """AWS has the names of SageMaker's resources in lower case in its ARNs."""
    return lambda params, place: [place.arn("sagemaker", f"{kind}/{str(params.get(member, '')).lower()}")]


def _tagged(params: Params, place: AccessPlace) -> Sequence[str | None]:
    return [sagemaker_arn(str(params.get("ResourceArn", "")))]


_COMPONENT = _sagemaker("inference-component", "InferenceComponentName")
_MODEL, _CONFIG = _sagemaker("model", "ModelName"), _sagemaker("endpoint-config", "EndpointConfigName")
_ENDPOINT, _TRAINING = _sagemaker("endpoint", "EndpointName"), _sagemaker("training-job", "TrainingJobName")
_PROCESSING = _sagemaker("processing-job", "ProcessingJobName")
_TUNING = _sagemaker("hyper-parameter-tuning-job", "HyperParameterTuningJobName")
_RECOMMENDATIONS = _sagemaker("inference-recommendations-job", "JobName")
_TRANSFORM, _EXPERIMENT = _sagemaker("transform-job", "TransformJobName"), _sagemaker("inference-experiment", "Name")


def _named(kind: str, member: str) -> Resources:
    """The resource that a name or an ARN means."""

    def found(params: Params, place: AccessPlace) -> list[str | None]:
        given = str(params.get(member, ""))
        return [sagemaker_arn(given) if given.startswith("arn:") else place.arn("sagemaker", f"{kind}/{given.lower()}")]

    return found


def _package(member: str) -> Resources:
    return _named("model-package", member)


_GROUP = _named("model-package-group", "ModelPackageGroupName")
_PIPELINE, _EXECUTION = _named("pipeline", "PipelineName"), _named("pipeline", "PipelineExecutionArn")


_ARTIFACT, _ACTION = _named("artifact", "ArtifactArn"), _named("action", "ActionName")
_CONTEXT = _named("context", "ContextName")


def _ends(params: Params, place: AccessPlace) -> Sequence[str | None]:
    """Both entities of an association."""
    return [sagemaker_arn(str(params.get(member, ""))) for member in ("SourceArn", "DestinationArn")]


def _new_package(params: Params, place: AccessPlace) -> Sequence[str | None]:
    """The package, or the group that it becomes a version of."""
    named = "ModelPackageGroupName" in params
    return _GROUP(params, place) if named else _package("ModelPackageName")(params, place)


def _packages(params: Params, place: AccessPlace) -> Sequence[str | None]:
    """Each package of a batch."""
    return [one for arn in params.get("ModelPackageArnList", ()) for one in _package("it")({"it": arn}, place)]


def _model_arn(params: Params, place: AccessPlace) -> list[str]:
    return [str(arn) for arn in _MODEL(params, place)] if "ModelName" in params else []


def _of_variants(params: Params, place: AccessPlace) -> Mapping[str, Sequence[Any]]:
    variants = [*params.get("ProductionVariants", ()), *params.get("ShadowProductionVariants", ())]
    serverless = [one["ServerlessConfig"] for one in variants if "ServerlessConfig" in one]
    found = {
        "ModelArn": [arn for one in variants for arn in _model_arn(one, place)],
        "InstanceTypes": [one["InstanceType"] for one in variants if "InstanceType" in one],
        "ServerlessMaxConcurrency": [one["MaxConcurrency"] for one in serverless if "MaxConcurrency" in one],
        "ServerlessMemorySize": [one["MemorySizeInMB"] for one in serverless if "MemorySizeInMB" in one],
        "AcceleratorTypes": [one["AcceleratorType"] for one in variants if "AcceleratorType" in one],
        "VolumeKmsKey": [params["KmsKeyId"]] if "KmsKeyId" in params else [],
    }
    return {**_OF_MODEL(params, place), **{key: values for key, values in found.items() if values}}


_OF_MODEL = members(
    NetworkIsolation="EnableNetworkIsolation",
    VpcSecurityGroupIds="VpcConfig.SecurityGroupIds",
    VpcSubnets="VpcConfig.Subnets",
)
_SCALED = members(**{"service-namespace": "ServiceNamespace", "scalable-dimension": "ScalableDimension"})
_OF_TRAINING_JOB = members(
    InstanceTypes="ResourceConfig.InstanceType",
    VolumeKmsKey="ResourceConfig.VolumeKmsKeyId",
    OutputKmsKey="OutputDataConfig.KmsKeyId",
    MaxRuntimeInSeconds="StoppingCondition.MaxRuntimeInSeconds",
    KeepAlivePeriod="ResourceConfig.KeepAlivePeriodInSeconds",
    InterContainerTrafficEncryption="EnableInterContainerTrafficEncryption",
    EnableRemoteDebug="RemoteDebugConfig.EnableRemoteDebug",
    NetworkIsolation="EnableNetworkIsolation",
    VpcSecurityGroupIds="VpcConfig.SecurityGroupIds",
    VpcSubnets="VpcConfig.Subnets",
)
_OF_TUNING_JOB = members(
    InstanceTypes="TrainingJobDefinition.ResourceConfig.InstanceType",
    VolumeKmsKey="TrainingJobDefinition.ResourceConfig.VolumeKmsKeyId",
    OutputKmsKey="TrainingJobDefinition.OutputDataConfig.KmsKeyId",
    InterContainerTrafficEncryption="TrainingJobDefinition.EnableInterContainerTrafficEncryption",
    NetworkIsolation="TrainingJobDefinition.EnableNetworkIsolation",
    VpcSecurityGroupIds="TrainingJobDefinition.VpcConfig.SecurityGroupIds",
    VpcSubnets="TrainingJobDefinition.VpcConfig.Subnets",
)
_TRIAL_ROLE = "TrainingJobDefinition.RoleArn"
_OF_CHANNEL = members(
    FileSystemAccessMode="DataSource.FileSystemDataSource.FileSystemAccessMode",
    FileSystemDirectoryPath="DataSource.FileSystemDataSource.DirectoryPath",
    FileSystemId="DataSource.FileSystemDataSource.FileSystemId",
    FileSystemType="DataSource.FileSystemDataSource.FileSystemType",
)


_OF_PROCESSING_JOB = members(
    InstanceTypes="ProcessingResources.ClusterConfig.InstanceType",
    VolumeKmsKey="ProcessingResources.ClusterConfig.VolumeKmsKeyId",
    OutputKmsKey="ProcessingOutputConfig.KmsKeyId",
    InterContainerTrafficEncryption="NetworkConfig.EnableInterContainerTrafficEncryption",
    NetworkIsolation="NetworkConfig.EnableNetworkIsolation",
    VpcSecurityGroupIds="NetworkConfig.VpcConfig.SecurityGroupIds",
    VpcSubnets="NetworkConfig.VpcConfig.Subnets",
)


def _of_training(params: Params, place: AccessPlace) -> Mapping[str, Sequence[Any]]:
    found: dict[str, Sequence[Any]] = dict(_OF_TRAINING_JOB(params, place))
    for channel in params.get("InputDataConfig", ()):
        for key, values in _OF_CHANNEL(channel, place).items():
            found[key] = (*found.get(key, ()), *values)
    return found


def _of_transform(params: Params, place: AccessPlace) -> Mapping[str, Sequence[Any]]:
    found = members(
        InstanceTypes="TransformResources.InstanceType",
        VolumeKmsKey="TransformResources.VolumeKmsKeyId",
        OutputKmsKey="TransformOutput.KmsKeyId",
    )
    models = _model_arn(params, place)
    return {**found(params, place), **({"ModelArn": models} if models else {})}


SAGEMAKER: Rights = {
    **rows(_MODEL, "CreateModel", keys=_OF_MODEL, passes=("ExecutionRoleArn",), tagged=True, always_passes=True),
    **rows(_MODEL, "DescribeModel", "DeleteModel"),
    **rows(_CONFIG, "CreateEndpointConfig", keys=_of_variants, passes=("ExecutionRoleArn",), tagged=True),
    **rows(_CONFIG, "DescribeEndpointConfig", "DeleteEndpointConfig"),
    **rows(both(_ENDPOINT, _CONFIG), "CreateEndpoint", tagged=True),
    **rows(both(_ENDPOINT, _CONFIG), "UpdateEndpoint"),
    **rows(_ENDPOINT, "DescribeEndpoint", "DeleteEndpoint", "UpdateEndpointWeightsAndCapacities"),
    **rows(_COMPONENT, "CreateInferenceComponent", tagged=True),
    **rows(_COMPONENT, "DescribeInferenceComponent", "UpdateInferenceComponent", "DeleteInferenceComponent"),
    **rows(_COMPONENT, "UpdateInferenceComponentRuntimeConfig"),
    **rows(_GROUP, "CreateModelPackageGroup", tagged=True),
    **rows(_GROUP, "DescribeModelPackageGroup", "DeleteModelPackageGroup"),
    **rows(_GROUP, "PutModelPackageGroupPolicy", "GetModelPackageGroupPolicy", "DeleteModelPackageGroupPolicy"),
    **rows(_packages, "BatchDescribeModelPackage"),
    **rows(_new_package, "CreateModelPackage", tagged=True),
    **rows(_package("ModelPackageName"), "DescribeModelPackage", "DeleteModelPackage"),
    **rows(_package("ModelPackageArn"), "UpdateModelPackage"),
    **rows(anything, "ListModelPackageGroups", "ListModelPackages"),
    **rows(anything, "CreateArtifact", tagged=True),
    **rows(_ARTIFACT, "DescribeArtifact", "UpdateArtifact", "DeleteArtifact"),
    **rows(_ACTION, "CreateAction", tagged=True),
    **rows(_ACTION, "DescribeAction", "UpdateAction", "DeleteAction"),
    **rows(_CONTEXT, "CreateContext", tagged=True),
    **rows(_CONTEXT, "DescribeContext", "UpdateContext", "DeleteContext"),
    **rows(_ends, "AddAssociation", "DeleteAssociation"),
    **rows(anything, "ListArtifacts", "ListActions", "ListContexts", "ListAssociations", "QueryLineage"),
    **rows(_TRAINING, "CreateTrainingJob", keys=_of_training, passes=("RoleArn",), tagged=True),
    **rows(_TRAINING, "DescribeTrainingJob", "StopTrainingJob", "DeleteTrainingJob"),
    **rows(_PROCESSING, "CreateProcessingJob", keys=_OF_PROCESSING_JOB, passes=("RoleArn",), tagged=True),
    **rows(_PROCESSING, "DescribeProcessingJob", "StopProcessingJob", "DeleteProcessingJob"),
    **rows(_TUNING, "CreateHyperParameterTuningJob", keys=_OF_TUNING_JOB, passes=(_TRIAL_ROLE,), tagged=True),
    **rows(_TUNING, "DescribeHyperParameterTuningJob", "StopHyperParameterTuningJob", "DeleteHyperParameterTuningJob"),
    **rows(_TUNING, "ListTrainingJobsForHyperParameterTuningJob"),
    **rows(anything, "ListHyperParameterTuningJobs"),
    **rows(_PIPELINE, "CreatePipeline", passes=("RoleArn",), tagged=True),
    **rows(_PIPELINE, "UpdatePipeline", passes=("RoleArn",)),
    **rows(_PIPELINE, "StartPipelineExecution", passes=("RoleArn",)),
    **rows(_PIPELINE, "DeletePipeline", "DescribePipeline", "ListPipelineExecutions"),
    **rows(_EXECUTION, "DescribePipelineExecution", "StopPipelineExecution", "ListPipelineExecutionSteps"),
    **rows(_EXECUTION, "DescribePipelineDefinitionForExecution", "ListPipelineParametersForExecution"),
    **rows(anything, "ListPipelines"),
    **rows(anything, "ListProcessingJobs", "ListInferenceRecommendationsJobs"),
    **rows(_RECOMMENDATIONS, "CreateInferenceRecommendationsJob", passes=("RoleArn",), tagged=True),
    **rows(_RECOMMENDATIONS, "DescribeInferenceRecommendationsJob", "ListInferenceRecommendationsJobSteps"),
    **rows(_RECOMMENDATIONS, "StopInferenceRecommendationsJob"),
    **rows(_TRANSFORM, "CreateTransformJob", keys=_of_transform, tagged=True),
    **rows(_TRANSFORM, "DescribeTransformJob", "StopTransformJob"),
    **rows(_EXPERIMENT, "CreateInferenceExperiment", passes=("RoleArn",), tagged=True),
    **rows(_EXPERIMENT, "DescribeInferenceExperiment", "UpdateInferenceExperiment", "DeleteInferenceExperiment"),
    **rows(_EXPERIMENT, "StartInferenceExperiment", "StopInferenceExperiment"),
    **rows(_tagged, "AddTags", "DeleteTags", "ListTags"),
    **rows(anything, "ListModels", "ListEndpointConfigs", "ListEndpoints", "ListInferenceExperiments"),
    **rows(anything, "ListInferenceComponents", "Search", "GetSearchSuggestions"),
    **rows(anything, "ListTrainingJobs", "ListTransformJobs", "ListMonitoringSchedules"),
    **rows(anything, *EMPTY_LISTS),
}  # fmt: skip

AUTOSCALING: Rights = {
    **rows(unnamed, "RegisterScalableTarget", "DeregisterScalableTarget", keys=_SCALED),
    **rows(unnamed, "PutScalingPolicy", "DeleteScalingPolicy", keys=_SCALED),
    **rows(unnamed, "PutScheduledAction", "DeleteScheduledAction", keys=_SCALED),
}  # fmt: skip
