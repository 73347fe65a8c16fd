"""Lists the known differences from AWS by operation. An operation without an entry has no known difference."""

from collections.abc import Mapping
from typing import Final

DIFFERENCES: Final[Mapping[str, str]] = {
    "CreateTrainingJob": "Runs script mode of the scikit-learn and XGBoost images, a command of ContainerEntrypoint, and built-in XGBoost, on this machine with "
    "the endpoint's own packages (`docs/how-to/train.md`). Refuses several instances, other images, Pipe mode, file systems and "
    "manifests. RoleArn is a name only without `--auth`; with it, a job whose role may not write its output fails before it trains.",
    "DescribeTrainingJob": "ModelArtifacts is set from the start. The billable time is the time that the job took here. There are no final metrics.",
    "ListTrainingJobs": "Ignores WarmPoolStatusEquals and TrainingPlanArnEquals.",
    "DeleteTrainingJob": "A job that is not over is refused with ValidationException. Its model and its log stay.",
    "StopTrainingJob": "Accepts a job that is Stopping already, and does nothing.",
}

WITHOUT_EFFECT: Final[Mapping[str, tuple[str, ...]]] = {
    "CreateTrainingJob": (
        "AlgorithmSpecification.MetricDefinitions",
        "AlgorithmSpecification.EnableSageMakerMetricsTimeSeries",
        "AlgorithmSpecification.TrainingImageConfig",
        "InputDataConfig.DataSource.S3DataSource.AttributeNames",
        "InputDataConfig.DataSource.S3DataSource.InstanceGroupNames",
        "InputDataConfig.DataSource.S3DataSource.ModelAccessConfig",
        "InputDataConfig.DataSource.S3DataSource.HubAccessConfig",
        "InputDataConfig.ShuffleConfig",
        "OutputDataConfig.KmsKeyId",
        "ResourceConfig.VolumeSizeInGB",
        "ResourceConfig.VolumeKmsKeyId",
        "ResourceConfig.KeepAlivePeriodInSeconds",
        "ResourceConfig.TrainingPlanArn",
        "ResourceConfig.InstancePlacementConfig",
        "ResourceConfig.InstancePreferences",
        "ResourceConfig.SelectedInstanceType",
        "ResourceConfig.SelectedInstanceCount",
        "VpcConfig",
        "StoppingCondition.MaxWaitTimeInSeconds",
        "StoppingCondition.MaxPendingTimeInSeconds",
        "EnableNetworkIsolation",
        "EnableInterContainerTrafficEncryption",
        "EnableManagedSpotTraining",
        "CheckpointConfig",
        "DebugHookConfig",
        "DebugRuleConfigurations",
        "TensorBoardOutputConfig",
        "ExperimentConfig",
        "ProfilerConfig",
        "ProfilerRuleConfigurations",
        "RetryStrategy",
        "RemoteDebugConfig",
        "InfraCheckConfig",
    )
}
"""By operation, the members that are kept and shown without effect. A test holds them against the code and the model."""
