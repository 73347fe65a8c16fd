"""Lists the known differences from AWS by operation. An operation without an entry has no known difference."""

from collections.abc import Mapping
from typing import Final

DIFFERENCES: Final[Mapping[str, str]] = {
    "CreateHyperParameterTuningJob": "Runs training jobs of CreateTrainingJob on this machine, with its limits (`docs/how-to/tune-hyperparameters.md`). Strategies: Random, Grid, and Bayesian, "
    "which is a tree-structured Parzen estimator here and a Gaussian process on AWS. Refuses Hyperband, WarmStartConfig, Autotune, TrainingJobDefinitions, AutoParameters and ConvergenceDetected. "
    "TrainingJobEarlyStoppingType Auto stops no training job. The training jobs get no tags.",
    "DescribeHyperParameterTuningJob": "A job that ran longer than MaxRuntimeInSeconds is Stopped. A job of which no training job completed is Failed.",
    "StopHyperParameterTuningJob": "Accepts a job that is Stopping already, and does nothing.",
    "DeleteHyperParameterTuningJob": "A job that is not over is refused with ValidationException. Its training jobs stay.",
    "ListTrainingJobsForHyperParameterTuningJob": "Training jobs without a value come last when FinalObjectiveMetricValue sorts.",
}

WITHOUT_EFFECT: Final[Mapping[str, tuple[str, ...]]] = {
    "CreateHyperParameterTuningJob": (
        "HyperParameterTuningJobConfig.TrainingJobEarlyStoppingType",
        "TrainingJobDefinition.HyperParameterTuningResourceConfig.AllocationStrategy",
    )
}
"""By operation, the members that are kept and shown without effect. Those of the training jobs are CreateTrainingJob's."""
