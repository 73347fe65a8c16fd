"""What each type of step does: the operation that begins it, how it is named, watched, stopped and described."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

NAME_MAX: Final = 63
TUNING_NAME_MAX: Final = 32


@dataclass(frozen=True)
class StepAction:
    """One type of step. `named` is the member of its resource's name, `arn` that of its ARN in the answers; `status`
    and `stop` are empty for what is there at once. `shown` is the member of the step's Metadata."""

    create: str
    describe: str
    named: str
    arn: str
    shown: str
    status: str = ""
    stop: str = ""
    name_max: int = NAME_MAX

    @property
    def is_job(self) -> bool:
        return bool(self.status)


def _job(noun: str, shown: str, name_max: int = NAME_MAX) -> StepAction:
    names = (f"Create{noun}", f"Describe{noun}", f"{noun}Name", f"{noun}Arn")
    return StepAction(*names, shown, f"{noun}Status", f"Stop{noun}", name_max)


ACTIONS: Final[Mapping[str, StepAction]] = {
    "Processing": _job("ProcessingJob", "ProcessingJob"),
    "Training": _job("TrainingJob", "TrainingJob"),
    "Transform": _job("TransformJob", "TransformJob"),
    "Tuning": _job("HyperParameterTuningJob", "TuningJob", TUNING_NAME_MAX),
    "Model": StepAction("CreateModel", "DescribeModel", "ModelName", "ModelArn", "Model"),
    "RegisterModel": StepAction(
        "CreateModelPackage", "DescribeModelPackage", "ModelPackageName", "ModelPackageArn", "RegisterModel"
    ),
}


def resource_name(action: StepAction, execution: str, step: str, tried: int) -> str:
    """The name of the step's resource: the same one for the same try, so that a restart finds it."""
    suffix = sha256(f"{execution} {step} {tried}".encode()).hexdigest()[:10]
    lead = "pipelines-" if action.name_max > TUNING_NAME_MAX else ""
    whole = re.sub(r"[^A-Za-z0-9]+", "-", f"{lead}{execution}-{step}")
    return f"{whole[: action.name_max - len(suffix) - 1].rstrip('-')}-{suffix}"


def properties_of(kind: str, described: Mapping[str, Any], trials: Any = ()) -> dict[str, Any]:
    """What `Get Steps.…` refers to. A tuning step has its training jobs, the best first."""
    return {**described, "TrainingJobSummaries": list(trials)} if kind == "Tuning" else dict(described)
