"""The tables of what Torpor does with each member of models, endpoint configurations, endpoints and experiments."""

from collections.abc import Mapping
from enum import Enum
from typing import Final


class Treatment(Enum):
    ACTED_ON = "acted on"
    """Members of such a structure have a table of their own."""
    KEPT = "kept and described, without effect"
    REFUSED = "refused by its name"
    OWN_RULES = "in the rules of what it belongs to"


ACTED_ON, KEPT, REFUSED, OWN_RULES = Treatment
Members = Mapping[str, Treatment]

KNOWN: Final[Mapping[str, Members]] = {
    "CreateModelInput": {
        "ModelName": ACTED_ON,
        "PrimaryContainer": ACTED_ON,
        "Containers": ACTED_ON,
        "InferenceExecutionConfig": OWN_RULES,
        "ExecutionRoleArn": KEPT,
        "Tags": ACTED_ON,
        "VpcConfig": KEPT,
        "EnableNetworkIsolation": KEPT,
    },
    "ContainerDefinition": {
        "ContainerHostname": ACTED_ON,
        "Image": ACTED_ON,
        "ImageConfig": KEPT,
        "Mode": ACTED_ON,
        "ModelDataUrl": ACTED_ON,
        "ModelDataSource": ACTED_ON,
        "AdditionalModelDataSources": REFUSED,
        "Environment": ACTED_ON,
        "ModelPackageName": REFUSED,
        "InferenceSpecificationName": REFUSED,
        "MultiModelConfig": ACTED_ON,
        "ContainerMetricsConfig": KEPT,
    },
    "ModelDataSource": {"S3DataSource": ACTED_ON},
    "S3ModelDataSource": {
        "S3Uri": ACTED_ON,
        "S3DataType": ACTED_ON,
        "CompressionType": ACTED_ON,
        "ModelAccessConfig": KEPT,
        "HubAccessConfig": REFUSED,
        "ManifestS3Uri": REFUSED,
        "ETag": REFUSED,
        "ManifestEtag": REFUSED,
    },
    "MultiModelConfig": {"ModelCacheSetting": ACTED_ON},
    "Tag": {"Key": ACTED_ON, "Value": ACTED_ON},
    "CreateEndpointConfigInput": {
        "EndpointConfigName": ACTED_ON,
        "ProductionVariants": ACTED_ON,
        "DataCaptureConfig": ACTED_ON,
        "Tags": ACTED_ON,
        "KmsKeyId": KEPT,
        "AsyncInferenceConfig": REFUSED,
        "ExplainerConfig": REFUSED,
        "ShadowProductionVariants": ACTED_ON,
        "ExecutionRoleArn": KEPT,
        "VpcConfig": KEPT,
        "EnableNetworkIsolation": KEPT,
        "MetricsConfig": KEPT,
        "CrossRegionTrafficConfig": KEPT,
    },
    "DataCaptureConfig": {
        "EnableCapture": ACTED_ON,
        "InitialSamplingPercentage": ACTED_ON,
        "DestinationS3Uri": ACTED_ON,
        "KmsKeyId": KEPT,
        "CaptureOptions": ACTED_ON,
        "CaptureContentTypeHeader": ACTED_ON,
    },
    "CaptureOption": {"CaptureMode": ACTED_ON},
    "CaptureContentTypeHeader": {"CsvContentTypes": ACTED_ON, "JsonContentTypes": ACTED_ON},
    "ProductionVariant": {
        "VariantName": ACTED_ON,
        "ModelName": ACTED_ON,
        "InitialInstanceCount": ACTED_ON,
        "InstanceType": ACTED_ON,
        "InstancePools": REFUSED,
        "VariantInstanceProvisionTimeoutInSeconds": KEPT,
        "InitialVariantWeight": ACTED_ON,
        "AcceleratorType": REFUSED,
        "CoreDumpConfig": KEPT,
        "ServerlessConfig": ACTED_ON,
        "VolumeSizeInGB": KEPT,
        "ModelDataDownloadTimeoutInSeconds": KEPT,
        "ContainerStartupHealthCheckTimeoutInSeconds": ACTED_ON,
        "EnableSSMAccess": KEPT,
        "ManagedInstanceScaling": ACTED_ON,
        "RoutingConfig": KEPT,
        "InferenceAmiVersion": KEPT,
        "CapacityReservationConfig": KEPT,
        "AcceleratorPartitionLayouts": REFUSED,
    },
    "ProductionVariantServerlessConfig": {
        "MemorySizeInMB": ACTED_ON,
        "MaxConcurrency": ACTED_ON,
        "ProvisionedConcurrency": ACTED_ON,
    },
    "ProductionVariantManagedInstanceScaling": {
        "Status": ACTED_ON,
        "MinInstanceCount": ACTED_ON,
        "MaxInstanceCount": ACTED_ON,
        "ScaleInPolicy": KEPT,
    },
    "CreateEndpointInput": {
        "EndpointName": ACTED_ON,
        "EndpointConfigName": ACTED_ON,
        "DeploymentConfig": KEPT,
        "Tags": ACTED_ON,
    },
    "UpdateEndpointInput": {
        "EndpointName": ACTED_ON,
        "EndpointConfigName": ACTED_ON,
        "RetainAllVariantProperties": ACTED_ON,
        "ExcludeRetainedVariantProperties": ACTED_ON,
        "DeploymentConfig": KEPT,
        "RetainDeploymentConfig": ACTED_ON,
    },
    "VariantProperty": {"VariantPropertyType": ACTED_ON},
    "CreateInferenceExperimentRequest": {
        "Name": ACTED_ON,
        "Type": ACTED_ON,
        "Schedule": ACTED_ON,
        "Description": ACTED_ON,
        "RoleArn": KEPT,
        "EndpointName": ACTED_ON,
        "ModelVariants": ACTED_ON,
        "DataStorageConfig": ACTED_ON,
        "ShadowModeConfig": ACTED_ON,
        "KmsKey": KEPT,
        "Tags": ACTED_ON,
    },
    "InferenceExperimentSchedule": {"StartTime": ACTED_ON, "EndTime": ACTED_ON},
    "ModelVariantConfig": {"ModelName": ACTED_ON, "VariantName": ACTED_ON, "InfrastructureConfig": ACTED_ON},
    "ModelInfrastructureConfig": {"InfrastructureType": ACTED_ON, "RealTimeInferenceConfig": ACTED_ON},
    "RealTimeInferenceConfig": {"InstanceType": ACTED_ON, "InstanceCount": ACTED_ON},
    "InferenceExperimentDataStorageConfig": {"Destination": ACTED_ON, "KmsKey": KEPT, "ContentType": ACTED_ON},
    "ShadowModeConfig": {"SourceModelVariantName": ACTED_ON, "ShadowModelVariants": ACTED_ON},
    "ShadowModelVariantConfig": {"ShadowModelVariantName": ACTED_ON, "SamplingPercentage": ACTED_ON},
    "UpdateInferenceExperimentRequest": {
        "Name": ACTED_ON,
        "Schedule": ACTED_ON,
        "Description": ACTED_ON,
        "ModelVariants": ACTED_ON,
        "DataStorageConfig": ACTED_ON,
        "ShadowModeConfig": ACTED_ON,
    },
    "StopInferenceExperimentRequest": {
        "Name": ACTED_ON,
        "ModelVariantActions": ACTED_ON,
        "DesiredModelVariants": ACTED_ON,
        "DesiredState": ACTED_ON,
        "Reason": ACTED_ON,
    },
}
"""By the names of AWS's shapes and of their members. A test holds them against botocore's service model."""

STRUCTURES: Final[Mapping[str, str]] = {
    "PrimaryContainer": "ContainerDefinition",
    "Containers": "ContainerDefinition",
    "ModelDataSource": "ModelDataSource",
    "S3DataSource": "S3ModelDataSource",
    "MultiModelConfig": "MultiModelConfig",
    "Tags": "Tag",
    "ProductionVariants": "ProductionVariant",
    "ShadowProductionVariants": "ProductionVariant",
    "ServerlessConfig": "ProductionVariantServerlessConfig",
    "ManagedInstanceScaling": "ProductionVariantManagedInstanceScaling",
    "DataCaptureConfig": "DataCaptureConfig",
    "CaptureOptions": "CaptureOption",
    "CaptureContentTypeHeader": "CaptureContentTypeHeader",
    "ExcludeRetainedVariantProperties": "VariantProperty",
    "Schedule": "InferenceExperimentSchedule",
    "ModelVariants": "ModelVariantConfig",
    "DesiredModelVariants": "ModelVariantConfig",
    "InfrastructureConfig": "ModelInfrastructureConfig",
    "RealTimeInferenceConfig": "RealTimeInferenceConfig",
    "DataStorageConfig": "InferenceExperimentDataStorageConfig",
    "ContentType": "CaptureContentTypeHeader",
    "ShadowModeConfig": "ShadowModeConfig",
    "ShadowModelVariants": "ShadowModelVariantConfig",
}
"""The shape of each member that is a structure, or a list of structures, with a table of its own."""
