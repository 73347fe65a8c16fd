"""The environment variables of a script's process, as a table: what AWS's images set, besides the container's.

Sources: the images' Dockerfiles (`ENV SM_MODEL_DIR /opt/ml/model`, `SM_INPUT…`, `PYTHON…`), the SageMaker SDK's
`Model` (SAGEMAKER_PROGRAM, SAGEMAKER_SUBMIT_DIRECTORY, SAGEMAKER_REGION, SAGEMAKER_CONTAINER_LOG_LEVEL) and the
platform (SAGEMAKER_MULTI_MODEL, SAGEMAKER_BIND_TO_PORT, AWS_REGION).
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from torpor_container.frozen_class import frozen

BASE = Path("/opt/ml")


@frozen
class Place:
    """Where a script runs. `given` is the container's environment."""

    model: Path
    script: Path
    given: Mapping[str, str]

    @property
    def input(self) -> Path:
        """The folder beside the model that AWS's containers have. It is empty for a script that serves."""
        return Path(self.given.get("SAGEMAKER_BASE_DIR") or BASE) / "input"

    @property
    def region(self) -> str:
        names = ("AWS_REGION", "SAGEMAKER_REGION", "AWS_DEFAULT_REGION")
        return next((self.given[name] for name in names if self.given.get(name)), "")


@frozen
class ScriptVariable:
    """One row: a variable, its value unless the container's Environment has it, and its meaning."""

    name: str
    value: Callable[[Place], str]
    meaning: str


VARIABLES: Final[tuple[ScriptVariable, ...]] = (
    ScriptVariable("SM_MODEL_DIR", lambda place: str(place.model), "the model's folder: `model_dir` of `model_fn`"),
    ScriptVariable("SM_INPUT", lambda place: str(place.input), "where training has its input; not there for a script that serves"),
    ScriptVariable("SM_INPUT_TRAINING_CONFIG_FILE", lambda place: str(place.input / "config/hyperparameters.json"), "a file in it; not there"),
    ScriptVariable("SM_INPUT_DATA_CONFIG_FILE", lambda place: str(place.input / "config/inputdataconfig.json"), "a file in it; not there"),
    ScriptVariable("SM_CHECKPOINT_CONFIG_FILE", lambda place: str(place.input / "config/checkpointconfig.json"), "a file in it; not there"),
    ScriptVariable("SAGEMAKER_PROGRAM", lambda place: place.script.name, "the script's file name"),
    ScriptVariable("SAGEMAKER_SUBMIT_DIRECTORY", lambda place: str(place.script.parent), "the script's folder"),
    ScriptVariable("SAGEMAKER_MULTI_MODEL", lambda place: "false", "whether the endpoint has many models"),
    ScriptVariable("SAGEMAKER_BIND_TO_PORT", lambda place: "8080", "the container's port on AWS"),
    ScriptVariable("SAGEMAKER_CONTAINER_LOG_LEVEL", lambda place: "20", "Python's number of a logging level"),
    ScriptVariable("SAGEMAKER_REGION", lambda place: place.region, "the region"),
    ScriptVariable("AWS_REGION", lambda place: place.region, "the region"),
    ScriptVariable("AWS_DEFAULT_REGION", lambda place: place.region, "the region"),
    ScriptVariable("PYTHONUNBUFFERED", lambda place: "1", "`1`, for Python processes that a script starts"),
    ScriptVariable("PYTHONIOENCODING", lambda place: "UTF-8", "`UTF-8`, for those too"),
    ScriptVariable("LANG", lambda place: "C.UTF-8", "`C.UTF-8`, for those too"),
)  # fmt: skip


def environment(place: Place) -> dict[str, str]:
    """All variables of the script's process. The container's Environment takes precedence over the table."""
    values = {variable.name: variable.value(place) for variable in VARIABLES}
    return {name: value for name, value in values.items() if value} | dict(place.given)
