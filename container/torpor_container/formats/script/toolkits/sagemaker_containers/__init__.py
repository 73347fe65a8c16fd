"""A stand-in for the older toolkit of AWS's scikit-learn and XGBoost images: see the folder above."""

from typing import Any


def training_env() -> Any:
    """The training job's facts."""
    from sagemaker_containers import _env

    return _env.TrainingEnv()
