"""Lists the known differences from AWS by operation. An operation without an entry has no known difference."""

from collections.abc import Mapping
from typing import Final

DIFFERENCES: Final[Mapping[str, str]] = {
    "CreateProcessingJob": "Runs the command of ContainerEntrypoint and ContainerArguments on this machine, for AWS's images of scikit-learn and XGBoost and for torpor, "
    "with the endpoint's own packages (`docs/how-to/processing-jobs.md`). Model Monitor's image compares each target model by itself (`docs/how-to/find-drift.md`). Refuses several instances, other images, an image's own program, Pipe mode, manifests, DatasetDefinition, FeatureStoreOutput, "
    "AppManaged and continuous uploads. Paths are below /opt/ml/processing.",
    "DescribeProcessingJob": "A failed job's FailureReason has the exit code and the last line of its log. A job that ran longer than MaxRuntimeInSeconds is Stopped.",
    "StopProcessingJob": "Accepts a job that is Stopping already, and does nothing. The outputs of a stopped job are not uploaded.",
    "DeleteProcessingJob": "A job that is not over is refused with ValidationException. Its log stays.",
}

WITHOUT_EFFECT: Final[Mapping[str, tuple[str, ...]]] = {
    "CreateProcessingJob": (
        "ProcessingInputs.S3Input.S3DataDistributionType",
        "ProcessingOutputConfig.KmsKeyId",
        "ProcessingResources.ClusterConfig.InstanceType",
        "ProcessingResources.ClusterConfig.VolumeSizeInGB",
        "ProcessingResources.ClusterConfig.VolumeKmsKeyId",
        "ProcessingResources.ClusterConfig.InstancePreferences",
        "ProcessingResources.ClusterConfig.SelectedInstanceType",
        "ProcessingResources.ClusterConfig.SelectedInstanceCount",
        "NetworkConfig",
        "ExperimentConfig",
    )
}
"""By operation, the members that are kept and shown without effect. A test holds them against the code and the model."""
