"""Lists the known differences from AWS by operation. An operation without an entry has no known difference."""

from collections.abc import Mapping
from typing import Final

DIFFERENCES: Final[Mapping[str, str]] = {
    "CreateInferenceRecommendationsJob": "Starts no instance: the simulator sends users in a closed loop to the model, with the times that the ledger measured on an endpoint that has it "
    "(`docs/how-to/recommendations.md`). A vCPU counts as equally fast on each type. Also takes models of a multi-model endpoint. Of EnvironmentParameterRanges it tries TORPOR_VCPU alone.",
    "DescribeInferenceRecommendationsJob": "InferenceRecommendations are sorted by CostPerInference, with prices of the list in use. ModelLatency is that of the percentile of ModelLatencyThresholds, else p95, rounded up.",
    "ListInferenceRecommendationsJobSteps": "Has each setup that was simulated, also without success, once the job has ended.",
    "StopInferenceRecommendationsJob": "Accepts a job that is STOPPING already or over, and does nothing.",
}

WITHOUT_EFFECT: Final[Mapping[str, tuple[str, ...]]] = {
    "CreateInferenceRecommendationsJob": (
        "InputConfig.JobDurationInSeconds",
        "InputConfig.ResourceLimit.MaxParallelOfTests",
        "InputConfig.VolumeKmsKeyId",
        "InputConfig.VpcConfig",
        "InputConfig.ContainerConfig",
        "OutputConfig",
    )
}
"""By operation, the members that are kept and shown without effect."""
