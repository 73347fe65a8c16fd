"""What the container's variables say: where things are, and a training job's facts."""

import os

from sagemaker_containers import _content_types, _params

from torpor_container.formats.script.training_facts import Facts

base_dir = os.environ.get("SAGEMAKER_BASE_DIR", "/opt/ml")
model_dir = os.environ.get("SM_MODEL_DIR", os.path.join(base_dir, "model"))
code_dir = os.environ.get("SM_MODULE_DIR", os.path.join(model_dir, "code"))
input_dir = os.environ.get("SM_INPUT_DIR", os.path.join(base_dir, "input"))
input_config_dir = os.environ.get("SM_INPUT_CONFIG_DIR", os.path.join(input_dir, "config"))
output_dir = os.environ.get("SM_OUTPUT_DIR", os.path.join(base_dir, "output"))
output_data_dir = os.environ.get("SM_OUTPUT_DATA_DIR", os.path.join(output_dir, "data"))


def num_gpus() -> int:
    return int(os.environ.get("SM_NUM_GPUS", "0"))


def num_cpus() -> int:
    return int(os.environ.get("SM_NUM_CPUS") or os.cpu_count() or 1)


class TrainingEnv(Facts):
    """A training job's facts, as SM_TRAINING_ENV has them."""


class ServingEnv:
    """A snapshot of a serving container's variables."""

    def __init__(self) -> None:
        given = os.environ.get
        self.user_entry_point = given(_params.USER_PROGRAM_ENV)
        self.module_name = (self.user_entry_point or "").removesuffix(".py") or None
        self.module_dir = given(_params.SUBMIT_DIR_ENV, code_dir)
        self.model_dir = model_dir
        self.log_level = int(given(_params.LOG_LEVEL_ENV, "20"))
        self.default_accept = given(_params.DEFAULT_INVOCATIONS_ACCEPT_ENV, _content_types.JSON)
        self.http_port = given("SAGEMAKER_BIND_TO_PORT", "8080")
        self.num_cpus, self.num_gpus = num_cpus(), num_gpus()
