"""The parameters of one call of each operation, in an order in which every call finds the resources that it needs."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.endpoint.account.helpers.operation_walk import Row, Walk
from tests.helpers.waiting import until
from torpor_endpoint.core.left_out.empty_lists import EMPTY_LISTS
from torpor_endpoint.core.lineage.lineage_records import artifact_name

ACCOUNT = "123456789012"
SAGEMAKER_ARN = f"arn:aws:sagemaker:us-east-1:{ACCOUNT}"
ROLE_ARN = f"arn:aws:iam::{ACCOUNT}:role/walk"
TAG = {"Key": "purpose", "Value": "walk"}
VARIANT = {"VariantName": "All", "ModelName": "walk", "InitialInstanceCount": 1, "InstanceType": "ml.m5.large"}

GROUP_POLICY = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sagemaker:*"}]})

# -- SageMaker -------------------------------------------------------------------------------------------------------

ARTIFACT = f"{SAGEMAKER_ARN}:artifact/{artifact_name('s3://walk-models/data')}"

SAGEMAKER: dict[str, Row] = {
    **{operation: {} for operation in EMPTY_LISTS},
    "CreateModel": {
        "ModelName": "walk",
        "ExecutionRoleArn": ROLE_ARN,
        "PrimaryContainer": {"Image": "torpor", "Mode": "MultiModel", "ModelDataUrl": "s3://walk-models/all/"},
        "Tags": [TAG],
    },
    "DescribeModel": {"ModelName": "walk"},
    "ListModels": {"NameContains": "walk"},
    "CreateModelPackageGroup": {"ModelPackageGroupName": "walk", "ModelPackageGroupDescription": "all", "Tags": [TAG]},
    "DescribeModelPackageGroup": {"ModelPackageGroupName": "walk"},
    "ListModelPackageGroups": {"NameContains": "walk"},
    "CreateModelPackage": {
        "ModelPackageGroupName": "walk",
        "ModelPackageDescription": "the first",
        "InferenceSpecification": {
            "Containers": [{"Image": "torpor", "ModelDataUrl": "s3://walk-models/one.tar.gz"}],
            "SupportedContentTypes": ["text/csv"],
            "SupportedResponseMIMETypes": ["text/csv"],
        },
        "CustomerMetadataProperties": {"data": "walk"},
    },
    "UpdateModelPackage": {
        "ModelPackageArn": f"{SAGEMAKER_ARN}:model-package/walk/1",
        "ModelApprovalStatus": "Approved",
        "ApprovalDescription": "it walks",
    },
    "DescribeModelPackage": {"ModelPackageName": f"{SAGEMAKER_ARN}:model-package/walk/1"},
    "ListModelPackages": {"ModelPackageGroupName": "walk"},
    "BatchDescribeModelPackage": {"ModelPackageArnList": [f"{SAGEMAKER_ARN}:model-package/walk/1"]},
    "Search": {
        "Resource": "ModelPackage",
        "SearchExpression": {
            "Filters": [{"Name": "ModelPackageVersion", "Operator": "GreaterThan", "Value": "0"}],
            "NestedFilters": [
                {
                    "NestedPropertyName": "InferenceSpecification.Containers",
                    "Filters": [{"Name": "InferenceSpecification.Containers.Image", "Value": "torpor"}],
                }
            ],
        },
        "SortBy": "ModelPackageVersion",
    },
    "GetSearchSuggestions": {"Resource": "ModelPackageGroup"},
    "PutModelPackageGroupPolicy": {"ModelPackageGroupName": "walk", "ResourcePolicy": GROUP_POLICY},
    "GetModelPackageGroupPolicy": {"ModelPackageGroupName": "walk"},
    "DeleteModelPackageGroupPolicy": {"ModelPackageGroupName": "walk"},
    "DeleteModelPackage": {"ModelPackageName": f"{SAGEMAKER_ARN}:model-package/walk/1"},
    "DeleteModelPackageGroup": {"ModelPackageGroupName": "walk"},
    "CreateArtifact": {
        "ArtifactName": "walk",
        "ArtifactType": "DataSet",
        "Source": {"SourceUri": "s3://walk-models/data", "SourceTypes": [{"SourceIdType": "S3ETag", "Value": "1"}]},
        "Properties": {"rows": "10"},
        "MetadataProperties": {"CommitId": "c0ffee"},
        "Tags": [TAG],
    },
    "CreateAction": {
        "ActionName": "walk",
        "ActionType": "Cleaning",
        "Source": {"SourceUri": "walk", "SourceType": "Script"},
        "Description": "cleans",
        "Status": "Completed",
        "Properties": {"rows": "9"},
        "MetadataProperties": {"CommitId": "c0ffee"},
        "Tags": [TAG],
    },
    "CreateContext": {
        "ContextName": "walk",
        "ContextType": "Study",
        "Source": {"SourceUri": "walk", "SourceId": "1"},
        "Description": "a walk",
        "Properties": {"rows": "9"},
        "Tags": [TAG],
    },
    "DescribeArtifact": {"ArtifactArn": ARTIFACT},
    "DescribeAction": {"ActionName": "walk"},
    "DescribeContext": {"ContextName": "walk"},
    "UpdateArtifact": {"ArtifactArn": ARTIFACT, "Properties": {"rows": "11"}},
    "UpdateAction": {"ActionName": "walk", "Status": "Completed"},
    "UpdateContext": {"ContextName": "walk", "PropertiesToRemove": ["none"]},
    "AddAssociation": {
        "SourceArn": ARTIFACT,
        "DestinationArn": f"{SAGEMAKER_ARN}:action/walk",
        "AssociationType": "ContributedTo",
    },
    "ListArtifacts": {"SourceUri": "s3://walk-models/data"},
    "ListActions": {"ActionType": "Cleaning"},
    "ListContexts": {"ContextType": "Study"},
    "ListAssociations": {"SourceArn": ARTIFACT},
    "QueryLineage": {"StartArns": [ARTIFACT], "Direction": "Descendants"},
    "DeleteAssociation": {"SourceArn": ARTIFACT, "DestinationArn": f"{SAGEMAKER_ARN}:action/walk"},
    "DeleteArtifact": {"ArtifactArn": ARTIFACT},
    "DeleteAction": {"ActionName": "walk"},
    "DeleteContext": {"ContextName": "walk"},
    "CreateEndpointConfig": {"EndpointConfigName": "walk", "ProductionVariants": [VARIANT], "Tags": [TAG]},
    "DescribeEndpointConfig": {"EndpointConfigName": "walk"},
    "ListEndpointConfigs": {"NameContains": "walk"},
    "CreateEndpoint": {"EndpointName": "walk", "EndpointConfigName": "walk", "Tags": [TAG]},
    "ListEndpoints": {"NameContains": "walk"},
    "AddTags": {"ResourceArn": f"{SAGEMAKER_ARN}:endpoint/walk", "Tags": [TAG]},
    "ListTags": {"ResourceArn": f"{SAGEMAKER_ARN}:endpoint/walk"},
    "DeleteTags": {"ResourceArn": f"{SAGEMAKER_ARN}:endpoint/walk", "TagKeys": ["purpose"]},
    "ListMonitoringSchedules": {"EndpointName": "walk"},
    "DescribeEndpoint": lambda walk: settled(walk, {"EndpointName": "walk"}),
    "UpdateEndpoint": {"EndpointName": "walk", "EndpointConfigName": "walk"},
    "UpdateEndpointWeightsAndCapacities": lambda walk: settled(
        walk,
        {"EndpointName": "walk", "DesiredWeightsAndCapacities": [{"VariantName": "All", "DesiredWeight": 2.0}]},
    ),
}

TRAINING: dict[str, Row] = {
    "CreateTrainingJob": {
        "TrainingJobName": "walk",
        "AlgorithmSpecification": {
            "TrainingImage": f"{ACCOUNT}.dkr.ecr.us-east-1.amazonaws.com/sagemaker-xgboost:1.7-1",
            "TrainingInputMode": "File",
        },
        "HyperParameters": {"num_round": "100000000", "objective": "reg:squarederror"},  # until it is stopped
        "RoleArn": ROLE_ARN,
        "InputDataConfig": [
            {
                "ChannelName": "train",
                "ContentType": "text/csv",
                "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://walk-models/rows/"}},
            }
        ],
        "OutputDataConfig": {"S3OutputPath": "s3://walk-models/trained/"},
        "ResourceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 1},
        "StoppingCondition": {"MaxRuntimeInSeconds": 60},
        "Tags": [TAG],
    },
    # At once: a job that has ended cannot be stopped.
    "StopTrainingJob": {"TrainingJobName": "walk"},
    "DescribeTrainingJob": {"TrainingJobName": "walk"},
    "ListTrainingJobs": {"NameContains": "walk"},
    "DeleteTrainingJob": lambda walk: ended_job(walk, "describe_training_job", "TrainingJob"),
}

PROCESSING: dict[str, Row] = {
    "CreateProcessingJob": {
        "ProcessingJobName": "walk",
        "ProcessingInputs": [
            {
                "InputName": "rows",
                "S3Input": {
                    "S3Uri": "s3://walk-models/rows/",
                    "LocalPath": "/opt/ml/processing/input/rows",
                    "S3DataType": "S3Prefix",
                    "S3InputMode": "File",
                },
            }
        ],
        "ProcessingOutputConfig": {
            "Outputs": [
                {
                    "OutputName": "out",
                    "S3Output": {
                        "S3Uri": "s3://walk-models/processed",
                        "LocalPath": "/opt/ml/processing/output",
                        "S3UploadMode": "EndOfJob",
                    },
                }
            ]
        },
        "ProcessingResources": {
            "ClusterConfig": {"InstanceCount": 1, "InstanceType": "ml.m5.large", "VolumeSizeInGB": 1}
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": 60},
        "AppSpecification": {"ImageUri": "torpor", "ContainerEntrypoint": ["sleep"], "ContainerArguments": ["600"]},
        "Environment": {"A": "b"},
        "RoleArn": ROLE_ARN,
        "Tags": [TAG],
    },
    # At once: a job that has ended cannot be stopped.
    "StopProcessingJob": {"ProcessingJobName": "walk"},
    "DescribeProcessingJob": {"ProcessingJobName": "walk"},
    "ListProcessingJobs": {"NameContains": "walk"},
    "DeleteProcessingJob": lambda walk: ended_job(walk, "describe_processing_job", "ProcessingJob"),
}

TUNING: dict[str, Row] = {
    "CreateHyperParameterTuningJob": {
        "HyperParameterTuningJobName": "walk",
        "HyperParameterTuningJobConfig": {
            "Strategy": "Random",
            "HyperParameterTuningJobObjective": {"Type": "Minimize", "MetricName": "train:rmse"},
            "ResourceLimits": {"MaxNumberOfTrainingJobs": 1, "MaxParallelTrainingJobs": 1},
            "ParameterRanges": {
                "IntegerParameterRanges": [{"Name": "max_depth", "MinValue": "1", "MaxValue": "9"}],
                "ContinuousParameterRanges": [{"Name": "eta", "MinValue": "0.1", "MaxValue": "0.9"}],
                "CategoricalParameterRanges": [{"Name": "booster", "Values": ["gbtree", "dart"]}],
            },
            "TrainingJobEarlyStoppingType": "Off",
        },
        "TrainingJobDefinition": {
            "DefinitionName": "walk",
            "StaticHyperParameters": {"num_round": "100000000"},  # until it is stopped
            "AlgorithmSpecification": {
                "TrainingImage": f"{ACCOUNT}.dkr.ecr.us-east-1.amazonaws.com/sagemaker-xgboost:1.7-1",
                "TrainingInputMode": "File",
            },
            "RoleArn": ROLE_ARN,
            "InputDataConfig": [
                {
                    "ChannelName": "train",
                    "ContentType": "text/csv",
                    "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://walk-models/rows/"}},
                }
            ],
            "OutputDataConfig": {"S3OutputPath": "s3://walk-models/tuned"},
            "ResourceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 1},
            "StoppingCondition": {"MaxRuntimeInSeconds": 60},
        },
        "Tags": [TAG],
    },
    # At once: a job that has ended cannot be stopped.
    "StopHyperParameterTuningJob": {"HyperParameterTuningJobName": "walk"},
    "DescribeHyperParameterTuningJob": {"HyperParameterTuningJobName": "walk"},
    "ListHyperParameterTuningJobs": {"NameContains": "walk"},
    "ListTrainingJobsForHyperParameterTuningJob": {"HyperParameterTuningJobName": "walk"},
    "DeleteHyperParameterTuningJob": lambda walk: ended_job(
        walk, "describe_hyper_parameter_tuning_job", "HyperParameterTuningJob"
    ),
}

TRANSFORM: dict[str, Row] = {
    "CreateTransformJob": lambda walk: with_one_model(
        walk,
        {
            "TransformJobName": "walk",
            "ModelName": "walk-one",
            "MaxConcurrentTransforms": 1,
            "MaxPayloadInMB": 1,
            "ModelClientConfig": {"InvocationsTimeoutInSeconds": 60, "InvocationsMaxRetries": 0},
            "BatchStrategy": "SingleRecord",
            "Environment": {"A": "b"},
            "TransformInput": {
                "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://walk-models/rows/"}},
                "ContentType": "text/csv",
                "SplitType": "Line",
                "CompressionType": "None",
            },
            "TransformOutput": {
                "S3OutputPath": "s3://walk-models/scored/",
                "Accept": "text/csv",
                "AssembleWith": "Line",
                "KmsKeyId": "key",
            },
            "TransformResources": {"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeKmsKeyId": "key"},
            "DataProcessing": {"InputFilter": "$[1:]", "OutputFilter": "$", "JoinSource": "Input"},
            "ExperimentConfig": {"ExperimentName": "walk"},
            "Tags": [TAG],
        },
    ),
    # At once: a job that has ended cannot be stopped.
    "StopTransformJob": {"TransformJobName": "walk"},
    "DescribeTransformJob": {"TransformJobName": "walk"},
    "ListTransformJobs": {"NameContains": "walk"},
}

DEFINITION = json.dumps(
    {
        "Version": "2020-12-01",
        "Parameters": [{"Name": "Seconds", "Type": "String", "DefaultValue": "600"}],
        "Steps": [
            {
                "Name": "Sleep",
                "Type": "Processing",
                "Arguments": {
                    "ProcessingResources": {
                        "ClusterConfig": {"InstanceCount": 1, "InstanceType": "ml.m5.large", "VolumeSizeInGB": 1}
                    },
                    "AppSpecification": {
                        "ImageUri": "torpor",
                        "ContainerEntrypoint": ["sleep"],
                        "ContainerArguments": [{"Get": "Parameters.Seconds"}],
                    },
                    "RoleArn": ROLE_ARN,
                },
            }
        ],
    }
)
TOKEN = {"ClientRequestToken": "walk" * 8}
PIPELINES: dict[str, Row] = {
    "CreatePipeline": {
        "PipelineName": "walk",
        "PipelineDisplayName": "Walk",
        "PipelineDescription": "walks",
        "PipelineDefinition": DEFINITION,
        "RoleArn": ROLE_ARN,
        "ParallelismConfiguration": {"MaxParallelExecutionSteps": 2},
        "Tags": [TAG],
        **TOKEN,
    },
    "UpdatePipeline": {"PipelineName": "walk", "PipelineDescription": "walks on"},
    "StartPipelineExecution": {
        "PipelineName": "walk",
        "PipelineExecutionDisplayName": "first",
        "PipelineExecutionDescription": "walks",
        "PipelineParameters": [{"Name": "Seconds", "Value": "300"}],
        **TOKEN,
    },
    "DescribePipeline": {"PipelineName": "walk"},
    "ListPipelines": {"PipelineNamePrefix": "walk"},
    "DescribePipelineDefinitionForExecution": lambda walk: of_execution(walk),
    "ListPipelineParametersForExecution": lambda walk: of_execution(walk),
    "ListPipelineExecutionSteps": lambda walk: with_a_step(walk),
    "StopPipelineExecution": lambda walk: {**of_execution(walk), **TOKEN},
    "DescribePipelineExecution": lambda walk: of_ended_execution(walk),
    "ListPipelineExecutions": {"PipelineName": "walk"},
    "DeletePipeline": {"PipelineName": "walk", **TOKEN},
}

RECOMMENDATIONS: dict[str, Row] = {
    "CreateInferenceRecommendationsJob": {
        "JobName": "walk",
        "JobType": "Advanced",
        "JobDescription": "walks",
        "RoleArn": ROLE_ARN,
        "InputConfig": {
            "ModelName": "walk",
            "JobDurationInSeconds": 300,
            "TrafficPattern": {
                "TrafficType": "PHASES",
                "Phases": [{"InitialNumberOfUsers": 1, "SpawnRate": 1, "DurationInSeconds": 120}],
            },
            "ResourceLimit": {"MaxNumberOfTests": 2, "MaxParallelOfTests": 1},
            "EndpointConfigurations": [{"InstanceType": "ml.m5.large"}],
        },
        "StoppingConditions": {
            "MaxInvocations": 1000,
            "ModelLatencyThresholds": [{"Percentile": "P95", "ValueInMilliseconds": 500}],
            "FlatInvocations": "Stop",
        },
        "Tags": [TAG],
    },
    "DescribeInferenceRecommendationsJob": {"JobName": "walk"},
    "ListInferenceRecommendationsJobs": {"NameContains": "walk"},
    "ListInferenceRecommendationsJobSteps": {"JobName": "walk"},
    "StopInferenceRecommendationsJob": {"JobName": "walk"},
}

JOBS: dict[str, Row] = {**TRAINING, **PROCESSING, **TUNING, **TRANSFORM, **RECOMMENDATIONS, **PIPELINES}

INFRASTRUCTURE = {
    "InfrastructureType": "RealTimeInference",
    "RealTimeInferenceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 1},
}
EXPERIMENT = {
    "Name": "walk",
    "Type": "ShadowMode",
    "Description": "walk",
    "RoleArn": ROLE_ARN,
    "EndpointName": "walk",
    "Schedule": {"StartTime": datetime.now(UTC) + timedelta(days=1)},
    "ModelVariants": [
        {"VariantName": name, "ModelName": "walk", "InfrastructureConfig": INFRASTRUCTURE} for name in ("All", "New")
    ],
    "ShadowModeConfig": {
        "SourceModelVariantName": "All",
        "ShadowModelVariants": [{"ShadowModelVariantName": "New", "SamplingPercentage": 0}],
    },
    "DataStorageConfig": {"Destination": "s3://walk-models/captured", "KmsKey": "key"},
    "KmsKey": "key",
    "Tags": [TAG],
}

EXPERIMENTS: dict[str, Row] = {
    "CreateInferenceExperiment": lambda walk: settled(walk, EXPERIMENT),
    "UpdateInferenceExperiment": lambda walk: of_experiment(walk, "Created", {"Description": "a walk"}),
    "StartInferenceExperiment": {"Name": "walk"},
    "StopInferenceExperiment": lambda walk: of_experiment(
        walk,
        "Running",
        {"ModelVariantActions": {"All": "Retain", "New": "Remove"}, "DesiredState": "Cancelled", "Reason": "walked"},
    ),
    "DescribeInferenceExperiment": lambda walk: of_experiment(walk, "Cancelled", {}),
    "ListInferenceExperiments": {"NameContains": "walk"},
    "DeleteInferenceExperiment": {"Name": "walk"},
}

ROOM = {"VariantName": "All", "InitialInstanceCount": 1, "InstanceType": "ml.m5.large"}
COMPONENT = {
    "Container": {"Image": "torpor", "ArtifactUrl": "s3://walk-models/all/a.tar.gz", "Environment": {"A": "b"}},
    "ComputeResourceRequirements": {"MinMemoryRequiredInMb": 512, "NumberOfCpuCoresRequired": 0.5},
    "StartupParameters": {"ContainerStartupHealthCheckTimeoutInSeconds": 300},
    "DataCacheConfig": {"EnableCaching": True},
    "SchedulingConfig": {"PlacementStrategy": "BINPACK"},
}
ROLLING = {"MaximumBatchSize": {"Type": "COPY_COUNT", "Value": 1}, "WaitIntervalInSeconds": 0}

COMPONENTS: dict[str, Row] = {
    "CreateInferenceComponent": lambda walk: with_room(
        walk,
        {
            "InferenceComponentName": "walk",
            "EndpointName": "walk-room",
            "VariantName": "All",
            "Specification": COMPONENT,
            "RuntimeConfig": {"CopyCount": 1},
            "Tags": [TAG],
        },
    ),
    "ListInferenceComponents": {"NameContains": "walk", "EndpointNameEquals": "walk-room"},
    "UpdateInferenceComponent": lambda walk: of_component(
        walk, {"Specification": COMPONENT, "DeploymentConfig": {"RollingUpdatePolicy": ROLLING}}
    ),
    "DescribeInferenceComponent": lambda walk: of_component(walk, {}),
    "UpdateInferenceComponentRuntimeConfig": {
        "InferenceComponentName": "walk",
        "DesiredRuntimeConfig": {"CopyCount": 1},
    },
    "DeleteInferenceComponent": lambda walk: of_component(walk, {}),
}

INVOKING: dict[str, Row] = {
    "InvokeEndpoint": {
        "EndpointName": "walk",
        "TargetModel": "a.tar.gz",
        "ContentType": "text/csv",
        "Body": b"1,2,3,4",
        "CustomAttributes": "trace=1",
    },
    "InvokeEndpointWithResponseStream": lambda walk: of_a_model(
        walk,
        "InvokeEndpointWithResponseStream",
        {"EndpointName": "walk", "ContentType": "text/csv", "Body": b"1,2,3,4", "CustomAttributes": "trace=1"},
    ),
    "InvokeEndpointAsync": lambda walk: of_a_model(
        walk,
        "InvokeEndpointAsync",
        {
            "EndpointName": asynchronous(walk, "walk-waiting"),
            "ContentType": "text/csv",
            "InputLocation": "s3://walk-models/rows/a.csv",
            "InferenceId": "walk",
            "RequestTTLSeconds": 600,
        },
    ),
}
"""The runtime's, between the control plane's beginning and its end."""

SAGEMAKER_END: dict[str, Row] = {
    "DeleteEndpoint": lambda walk: settled(walk, {"EndpointName": "walk"}),
    "DeleteEndpointConfig": {"EndpointConfigName": "walk"},
    "DeleteModel": {"ModelName": "walk"},
}


def of_a_model(walk: Walk, operation: str, params: dict[str, Any]) -> dict[str, Any]:
    """boto3 has no TargetModel in this operation."""
    walk.add_header(operation, "X-Amzn-SageMaker-Target-Model", "a.tar.gz")
    return params


def asynchronous(walk: Walk, name: str) -> str:
    """The name of an asynchronous endpoint that sleeps until it is asked."""
    scaling = {"Status": "ENABLED", "MinInstanceCount": 0, "MaxInstanceCount": 1}
    variant = {**VARIANT, "ManagedInstanceScaling": scaling}
    output = {"S3OutputPath": "s3://walk-models/out", "S3FailurePath": "s3://walk-models/failed"}
    client = walk.client_of("sagemaker")
    client.create_endpoint_config(
        EndpointConfigName=name, ProductionVariants=[variant], AsyncInferenceConfig={"OutputConfig": output}
    )
    client.create_endpoint(EndpointName=name, EndpointConfigName=name)
    walk.settled(name)
    return name


def settled(walk: Walk, params: dict[str, Any]) -> dict[str, Any]:
    walk.settled(params["EndpointName"])
    return params


def with_one_model(walk: Walk, params: dict[str, Any]) -> dict[str, Any]:
    """The parameters, once the model that they name is there: one artifact, not many."""
    container = {"Image": "torpor", "ModelDataUrl": "s3://walk-models/all/a.tar.gz"}
    model = {"ModelName": params["ModelName"], "ExecutionRoleArn": ROLE_ARN, "PrimaryContainer": container}
    walk.client_of("sagemaker").create_model(**model)
    return params


def with_room(walk: Walk, params: dict[str, Any]) -> dict[str, Any]:
    """The parameters, once there is an endpoint with room for the component."""
    name, client = params["EndpointName"], walk.client_of("sagemaker")
    client.create_endpoint_config(EndpointConfigName=name, ProductionVariants=[ROOM], ExecutionRoleArn=ROLE_ARN)
    client.create_endpoint(EndpointName=name, EndpointConfigName=name)
    return settled(walk, params)


def of_component(walk: Walk, params: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a call on the component, once it is in service."""
    client = walk.client_of("sagemaker")

    def in_service() -> bool:
        shown = client.describe_inference_component(InferenceComponentName="walk")
        assert shown["InferenceComponentStatus"] != "Failed", shown
        return bool(shown["InferenceComponentStatus"] == "InService")

    until(in_service, look_s=0.05)
    return {"InferenceComponentName": "walk", **params}


def ended_job(walk: Walk, describe: str, kind: str) -> dict[str, Any]:
    """The parameters of a call on the job, once it is over."""
    name = {f"{kind}Name": "walk"}
    described = getattr(walk.client_of("sagemaker"), describe)
    until(lambda: described(**name)[f"{kind}Status"] in ("Completed", "Stopped", "Failed"), look_s=0.05)
    return name


def of_execution(walk: Walk) -> dict[str, Any]:
    """The parameters of a call on the execution of the pipeline."""
    return {"PipelineExecutionArn": walk.said("StartPipelineExecution")["PipelineExecutionArn"]}


def with_a_step(walk: Walk) -> dict[str, Any]:
    """The same, once the execution has a step with a job."""
    named = of_execution(walk)
    listed = walk.client_of("sagemaker").list_pipeline_execution_steps

    def begun() -> bool:
        return any(step.get("Metadata") for step in listed(**named)["PipelineExecutionSteps"])

    until(begun, look_s=0.05)
    return named


def of_ended_execution(walk: Walk) -> dict[str, Any]:
    """The same, once the execution is over."""
    named = of_execution(walk)
    described = walk.client_of("sagemaker").describe_pipeline_execution
    until(lambda: described(**named)["PipelineExecutionStatus"] not in ("Executing", "Stopping"), look_s=0.05)
    return named


def of_experiment(walk: Walk, status: str, params: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a call on the experiment, once it has this status."""
    client = walk.client_of("sagemaker")
    until(lambda: client.describe_inference_experiment(Name="walk")["Status"] == status, look_s=0.05)
    return {"Name": "walk", **params}


# -- CloudWatch ------------------------------------------------------------------------------------------------------

NOW = datetime.now(UTC)
WINDOW = {"StartTime": NOW - timedelta(hours=1), "EndTime": NOW + timedelta(minutes=5)}
METRIC = {"Namespace": "Walk", "MetricName": "Rows"}
ALARM_ARN = f"arn:aws:cloudwatch:us-east-1:{ACCOUNT}:alarm:walk"

CLOUDWATCH: dict[str, Row] = {
    "PutMetricData": {"Namespace": "Walk", "MetricData": [{"MetricName": "Rows", "Value": 1.0, "Timestamp": NOW}]},
    "GetMetricData": {
        "MetricDataQueries": [
            {"Id": "m", "MetricStat": {"Metric": METRIC, "Period": 60, "Stat": "Sum"}},
            {"Id": "e", "Expression": "m * 2"},
        ],
        **WINDOW,
    },
    "GetMetricStatistics": {**METRIC, **WINDOW, "Period": 60, "Statistics": ["Average", "Sum"]},
    "ListMetrics": {"Namespace": "Walk"},
    "PutMetricAlarm": {
        **METRIC,
        "AlarmName": "walk",
        "Statistic": "Sum",
        "Period": 60,
        "EvaluationPeriods": 1,
        "Threshold": 1.0,
        "ComparisonOperator": "GreaterThanThreshold",
        "Tags": [TAG],
    },
    "DescribeAlarms": {"AlarmNames": ["walk"]},
    "DescribeAlarmsForMetric": METRIC,
    "SetAlarmState": {"AlarmName": "walk", "StateValue": "ALARM", "StateReason": "a walk"},
    "DescribeAlarmHistory": {"AlarmName": "walk"},
    "DisableAlarmActions": {"AlarmNames": ["walk"]},
    "EnableAlarmActions": {"AlarmNames": ["walk"]},
    "TagResource": {"ResourceARN": ALARM_ARN, "Tags": [TAG]},
    "ListTagsForResource": {"ResourceARN": ALARM_ARN},
    "UntagResource": {"ResourceARN": ALARM_ARN, "TagKeys": ["purpose"]},
    "DeleteAlarms": {"AlarmNames": ["walk"]},
}

# -- STS, IAM --------------------------------------------------------------------------------------------------------

STS: dict[str, Row] = {
    "GetCallerIdentity": {},
    "AssumeRole": {"RoleArn": ROLE_ARN, "RoleSessionName": "walk"},
    "AssumeRoleWithWebIdentity": {"RoleArn": ROLE_ARN, "RoleSessionName": "walk", "WebIdentityToken": "a.b.c"},
    "GetSessionToken": {},
    "GetFederationToken": {"Name": "walk"},
    "GetAccessKeyInfo": {"AccessKeyId": "AKIAIOSFODNN7EXAMPLE"},
}

TRUST = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Principal": {"Service": "sagemaker.amazonaws.com"}, "Action": "sts:AssumeRole"}
        ],
    }
)
POLICY = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]})
POLICY_ARN = "arn:aws:iam::aws:policy/AmazonSageMakerFullAccess"
ROLE, USER, GROUP = {"RoleName": "walk"}, {"UserName": "walk"}, {"GroupName": "walk"}
OWN_POLICY = {"PolicyArn": f"arn:aws:iam::{ACCOUNT}:policy/walk"}


def key_of(walk: Walk) -> dict[str, str]:
    return {"AccessKeyId": walk.said("CreateAccessKey")["AccessKey"]["AccessKeyId"]}


IAM: dict[str, Row] = {
    "CreateRole": {**ROLE, "AssumeRolePolicyDocument": TRUST, "Description": "a walk", "Tags": [TAG]},
    "GetRole": ROLE,
    "ListRoles": {},
    "UpdateRole": {**ROLE, "Description": "another"},
    "UpdateRoleDescription": {**ROLE, "Description": "a third"},
    "UpdateAssumeRolePolicy": {**ROLE, "PolicyDocument": TRUST},
    "PutRolePermissionsBoundary": {**ROLE, "PermissionsBoundary": POLICY_ARN},
    "DeleteRolePermissionsBoundary": ROLE,
    "TagRole": {**ROLE, "Tags": [TAG]},
    "ListRoleTags": ROLE,
    "UntagRole": {**ROLE, "TagKeys": ["purpose"]},
    "PutRolePolicy": {**ROLE, "PolicyName": "inline", "PolicyDocument": POLICY},
    "GetRolePolicy": {**ROLE, "PolicyName": "inline"},
    "ListRolePolicies": ROLE,
    "DeleteRolePolicy": {**ROLE, "PolicyName": "inline"},
    "AttachRolePolicy": {**ROLE, "PolicyArn": POLICY_ARN},
    "ListAttachedRolePolicies": ROLE,
    "ListEntitiesForPolicy": {"PolicyArn": POLICY_ARN},
    "DetachRolePolicy": {**ROLE, "PolicyArn": POLICY_ARN},
    "ListInstanceProfilesForRole": ROLE,
    "CreateUser": {**USER, "Tags": [TAG]},
    "GetUser": USER,
    "ListUsers": {},
    "PutUserPermissionsBoundary": {**USER, "PermissionsBoundary": POLICY_ARN},
    "DeleteUserPermissionsBoundary": USER,
    "CreateGroup": {**GROUP, "Path": "/teams/"},
    "GetGroup": GROUP,
    "ListGroups": {},
    "UpdateGroup": {**GROUP, "NewPath": "/others/"},
    "AddUserToGroup": {**GROUP, **USER},
    "ListGroupsForUser": USER,
    "PutGroupPolicy": {**GROUP, "PolicyName": "inline", "PolicyDocument": POLICY},
    "GetGroupPolicy": {**GROUP, "PolicyName": "inline"},
    "ListGroupPolicies": GROUP,
    "AttachGroupPolicy": {**GROUP, "PolicyArn": POLICY_ARN},
    "ListAttachedGroupPolicies": GROUP,
    "GetAccountAuthorizationDetails": {},
    "DetachGroupPolicy": {**GROUP, "PolicyArn": POLICY_ARN},
    "DeleteGroupPolicy": {**GROUP, "PolicyName": "inline"},
    "RemoveUserFromGroup": {**GROUP, **USER},
    "DeleteGroup": GROUP,
    "UpdateUser": {**USER, "NewPath": "/others/"},
    "TagUser": {**USER, "Tags": [TAG]},
    "ListUserTags": USER,
    "UntagUser": {**USER, "TagKeys": ["purpose"]},
    "PutUserPolicy": {**USER, "PolicyName": "inline", "PolicyDocument": POLICY},
    "GetUserPolicy": {**USER, "PolicyName": "inline"},
    "ListUserPolicies": USER,
    "DeleteUserPolicy": {**USER, "PolicyName": "inline"},
    "AttachUserPolicy": {**USER, "PolicyArn": POLICY_ARN},
    "ListAttachedUserPolicies": USER,
    "DetachUserPolicy": {**USER, "PolicyArn": POLICY_ARN},
    "CreateAccessKey": USER,
    "ListAccessKeys": USER,
    "UpdateAccessKey": lambda walk: {**USER, **key_of(walk), "Status": "Inactive"},
    "DeleteAccessKey": lambda walk: {**USER, **key_of(walk)},
    "DeleteUser": USER,
    "CreatePolicy": {"PolicyName": "walk", "PolicyDocument": POLICY, "Description": "a walk"},
    "GetPolicy": OWN_POLICY,
    "ListPolicies": {"Scope": "Local"},
    "TagPolicy": {**OWN_POLICY, "Tags": [TAG]},
    "ListPolicyTags": OWN_POLICY,
    "UntagPolicy": {**OWN_POLICY, "TagKeys": ["purpose"]},
    "CreatePolicyVersion": {**OWN_POLICY, "PolicyDocument": POLICY},
    "GetPolicyVersion": {**OWN_POLICY, "VersionId": "v1"},
    "ListPolicyVersions": OWN_POLICY,
    "SetDefaultPolicyVersion": {**OWN_POLICY, "VersionId": "v2"},
    "DeletePolicyVersion": {**OWN_POLICY, "VersionId": "v1"},
    "DeletePolicy": OWN_POLICY,
    "SimulatePrincipalPolicy": {"PolicySourceArn": ROLE_ARN, "ActionNames": ["s3:GetObject"]},
    "SimulateCustomPolicy": {"PolicyInputList": [POLICY], "ActionNames": ["s3:GetObject"]},
    "GetContextKeysForCustomPolicy": {"PolicyInputList": [POLICY]},
    "DeleteRole": ROLE,
    "CreateServiceLinkedRole": {"AWSServiceName": "sagemaker.application-autoscaling.amazonaws.com"},
    "DeleteServiceLinkedRole": lambda walk: {"RoleName": walk.said("CreateServiceLinkedRole")["Role"]["RoleName"]},
    "GetServiceLinkedRoleDeletionStatus": lambda walk: {
        "DeletionTaskId": walk.said("DeleteServiceLinkedRole")["DeletionTaskId"]
    },
}

# -- Application Auto Scaling ----------------------------------------------------------------------------------------

SCALABLE = {
    "ServiceNamespace": "sagemaker",
    "ResourceId": "endpoint/walk/variant/All",
    "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
}
TRACKING = {
    "TargetValue": 100.0,
    "PredefinedMetricSpecification": {"PredefinedMetricType": "SageMakerVariantInvocationsPerInstance"},
}


def target_arn(walk: Walk) -> str:
    return str(walk.said("RegisterScalableTarget")["ScalableTargetARN"])


AUTOSCALING: dict[str, Row] = {
    "RegisterScalableTarget": {**SCALABLE, "MinCapacity": 1, "MaxCapacity": 2, "Tags": {"purpose": "walk"}},
    "DescribeScalableTargets": {"ServiceNamespace": "sagemaker"},
    "TagResource": lambda walk: {"ResourceARN": target_arn(walk), "Tags": {"a": "b"}},
    "ListTagsForResource": lambda walk: {"ResourceARN": target_arn(walk)},
    "UntagResource": lambda walk: {"ResourceARN": target_arn(walk), "TagKeys": ["a"]},
    "PutScalingPolicy": {
        **SCALABLE,
        "PolicyName": "walk",
        "PolicyType": "TargetTrackingScaling",
        "TargetTrackingScalingPolicyConfiguration": TRACKING,
    },
    "DescribeScalingPolicies": {"ServiceNamespace": "sagemaker"},
    "PutScheduledAction": {
        **SCALABLE,
        "ScheduledActionName": "walk",
        "Schedule": "rate(1 hour)",
        "ScalableTargetAction": {"MinCapacity": 1},
    },
    "DescribeScheduledActions": {"ServiceNamespace": "sagemaker"},
    "DescribeScalingActivities": {"ServiceNamespace": "sagemaker"},
    "DeleteScheduledAction": {**SCALABLE, "ScheduledActionName": "walk"},
    "DeleteScalingPolicy": {**SCALABLE, "PolicyName": "walk"},
    "DeregisterScalableTarget": SCALABLE,
}

# -- Logs ------------------------------------------------------------------------------------------------------------

GROUP = {"logGroupName": "/aws/sagemaker/Endpoints/walk"}


def stream(walk: Walk) -> dict[str, Any]:
    return {**GROUP, "logStreamName": walk.said("DescribeLogStreams")["logStreams"][0]["logStreamName"]}


GROUP_ARN = f"arn:aws:logs:us-east-1:{ACCOUNT}:log-group:{GROUP['logGroupName']}"

LOGS: dict[str, Row] = {
    "CreateLogGroup": {"logGroupName": f"{GROUP['logGroupName']}-early"},
    "DescribeLogGroups": {"logGroupNamePrefix": "/aws/sagemaker/Endpoints/"},
    "DescribeLogStreams": GROUP,
    "GetLogEvents": stream,
    "FilterLogEvents": GROUP,
    "PutRetentionPolicy": {**GROUP, "retentionInDays": 7},
    "DeleteRetentionPolicy": GROUP,
    "TagResource": {"resourceArn": GROUP_ARN, "tags": {"purpose": "walk"}},
    "ListTagsForResource": {"resourceArn": GROUP_ARN},
    "ListTagsLogGroup": GROUP,
    "UntagResource": {"resourceArn": GROUP_ARN, "tagKeys": ["purpose"]},
    "TagLogGroup": {**GROUP, "tags": {"purpose": "walk"}},
    "UntagLogGroup": {**GROUP, "tags": ["purpose"]},
    "DeleteLogStream": stream,
    "DeleteLogGroup": GROUP,
}

# -- S3 --------------------------------------------------------------------------------------------------------------

BUCKET = {"Bucket": "walk"}
OBJECT = {"Bucket": "walk", "Key": "a"}
UPLOAD = {"Bucket": "walk", "Key": "upload"}
KEEP = {"Rules": [{"ID": "all", "Status": "Enabled", "Filter": {"Prefix": ""}, "Expiration": {"Days": 1}}]}
BUCKET_POLICY = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::walk/*"}],
}
REPLICATION = {
    "Role": ROLE_ARN,
    "Rules": [{"Status": "Enabled", "Prefix": "", "Destination": {"Bucket": "arn:aws:s3:::other"}}],
}
ENCRYPTION = {"Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}]}
QUEUE = {"QueueArn": f"arn:aws:sqs:us-east-1:{ACCOUNT}:queue", "Events": ["s3:ObjectCreated:*"]}


def part(walk: Walk, number: int = 1) -> dict[str, Any]:
    return {**UPLOAD, "UploadId": walk.said("CreateMultipartUpload")["UploadId"], "PartNumber": number}


def upload(walk: Walk) -> dict[str, Any]:
    return {**UPLOAD, "UploadId": walk.said("CreateMultipartUpload")["UploadId"]}


def parts(walk: Walk) -> dict[str, Any]:
    tags = [walk.said("UploadPart")["ETag"], walk.said("UploadPartCopy")["CopyPartResult"]["ETag"]]
    listed = [{"PartNumber": number, "ETag": tag} for number, tag in enumerate(tags, start=1)]
    return {**upload(walk), "MultipartUpload": {"Parts": listed}}


S3: dict[str, Row] = {
    "CreateBucket": BUCKET,
    "ListBuckets": {},
    "HeadBucket": BUCKET,
    "GetBucketLocation": BUCKET,
    "GetBucketAcl": BUCKET,
    "PutBucketAcl": {**BUCKET, "ACL": "private"},
    "PutBucketAccelerateConfiguration": {**BUCKET, "AccelerateConfiguration": {"Status": "Enabled"}},
    "GetBucketAccelerateConfiguration": BUCKET,
    "PutBucketCors": {
        **BUCKET,
        "CORSConfiguration": {"CORSRules": [{"AllowedMethods": ["GET"], "AllowedOrigins": ["*"]}]},
    },
    "GetBucketCors": BUCKET,
    "DeleteBucketCors": BUCKET,
    "PutBucketEncryption": {**BUCKET, "ServerSideEncryptionConfiguration": ENCRYPTION},
    "GetBucketEncryption": BUCKET,
    "DeleteBucketEncryption": BUCKET,
    "PutBucketLifecycleConfiguration": {**BUCKET, "LifecycleConfiguration": KEEP},
    "GetBucketLifecycleConfiguration": BUCKET,
    "DeleteBucketLifecycle": BUCKET,
    "PutBucketLogging": {
        **BUCKET,
        "BucketLoggingStatus": {"LoggingEnabled": {"TargetBucket": "walk", "TargetPrefix": "logs/"}},
    },
    "GetBucketLogging": BUCKET,
    "PutBucketNotificationConfiguration": {
        **BUCKET,
        "NotificationConfiguration": {"QueueConfigurations": [QUEUE]},
        "SkipDestinationValidation": True,
    },
    "GetBucketNotificationConfiguration": BUCKET,
    "PutObjectLockConfiguration": {**BUCKET, "ObjectLockConfiguration": {"ObjectLockEnabled": "Enabled"}},
    "GetObjectLockConfiguration": BUCKET,
    "PutBucketOwnershipControls": {
        **BUCKET,
        "OwnershipControls": {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]},
    },
    "GetBucketOwnershipControls": BUCKET,
    "DeleteBucketOwnershipControls": BUCKET,
    "PutBucketPolicy": {**BUCKET, "Policy": json.dumps(BUCKET_POLICY)},
    "GetBucketPolicy": BUCKET,
    "GetBucketPolicyStatus": BUCKET,
    "DeleteBucketPolicy": BUCKET,
    "PutPublicAccessBlock": {**BUCKET, "PublicAccessBlockConfiguration": {"BlockPublicAcls": True}},
    "GetPublicAccessBlock": BUCKET,
    "DeletePublicAccessBlock": BUCKET,
    "PutBucketReplication": {**BUCKET, "ReplicationConfiguration": REPLICATION},
    "GetBucketReplication": BUCKET,
    "DeleteBucketReplication": BUCKET,
    "PutBucketRequestPayment": {**BUCKET, "RequestPaymentConfiguration": {"Payer": "BucketOwner"}},
    "GetBucketRequestPayment": BUCKET,
    "PutBucketTagging": {**BUCKET, "Tagging": {"TagSet": [TAG]}},
    "GetBucketTagging": BUCKET,
    "DeleteBucketTagging": BUCKET,
    "PutBucketVersioning": {**BUCKET, "VersioningConfiguration": {"Status": "Enabled"}},
    "GetBucketVersioning": BUCKET,
    "PutBucketWebsite": {**BUCKET, "WebsiteConfiguration": {"IndexDocument": {"Suffix": "index.html"}}},
    "GetBucketWebsite": BUCKET,
    "DeleteBucketWebsite": BUCKET,
    "PutObject": {**OBJECT, "Body": b"0123456789", "Metadata": {"k": "v"}, "ChecksumAlgorithm": "SHA256"},
    "HeadObject": {**OBJECT, "ChecksumMode": "ENABLED"},
    "GetObject": {**OBJECT, "ChecksumMode": "ENABLED"},
    "GetObjectAcl": OBJECT,
    "PutObjectAcl": {**OBJECT, "ACL": "private"},
    "PutObjectTagging": {**OBJECT, "Tagging": {"TagSet": [TAG]}},
    "GetObjectTagging": OBJECT,
    "DeleteObjectTagging": OBJECT,
    "GetObjectAttributes": {**OBJECT, "ObjectAttributes": ["ETag", "Checksum", "ObjectSize", "StorageClass"]},
    "CopyObject": {"Bucket": "walk", "Key": "b", "CopySource": "walk/a"},
    "ListObjects": {**BUCKET, "Delimiter": "/"},
    "ListObjectsV2": {**BUCKET, "FetchOwner": True},
    "ListObjectVersions": BUCKET,
    "CreateMultipartUpload": UPLOAD,
    "UploadPart": lambda walk: {**part(walk), "Body": bytes(5 << 20)},
    "UploadPartCopy": lambda walk: {**part(walk, 2), "CopySource": "walk/a"},
    "ListParts": upload,
    "ListMultipartUploads": BUCKET,
    "CompleteMultipartUpload": parts,
    "AbortMultipartUpload": lambda walk: {**UPLOAD, "UploadId": walk.call("CreateMultipartUpload", UPLOAD)["UploadId"]},
    "DeleteObject": OBJECT,
    "DeleteObjects": {**BUCKET, "Delete": {"Objects": [{"Key": "b"}, {"Key": "upload"}]}},
    "DeleteBucket": BUCKET,
}
