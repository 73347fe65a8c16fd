"""What differs from AWS, operation by operation, as far as it is known; an operation without a line has none."""

from collections.abc import Mapping
from typing import Final

DIFFERENCES: Final[Mapping[str, str]] = {
    "CreateTrainingJob": "A stand-in: script mode of the scikit-learn and XGBoost images, and built-in XGBoost, run on this "
    "machine with the endpoint's own packages. Several instances, other images, Pipe mode, file systems and manifests are "
    "refused; spot, VPC, checkpoints, debugger and metric definitions are kept without effect. `docs/training.md`.",
    "DescribeTrainingJob": "ModelArtifacts is there from the start; billable time is the time taken here; no final metrics.",
    "ListTrainingJobs": "WarmPoolStatusEquals and TrainingPlanArnEquals are ignored.",
    "StopTrainingJob": "A job that is Stopping already is accepted in silence.",
}
