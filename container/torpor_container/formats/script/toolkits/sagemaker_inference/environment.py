"""Where the model and the code are, and what the container's variables say."""

import os

from sagemaker_inference import content_types, parameters

DEFAULT_MODULE_NAME = "inference.py"
SAGEMAKER_BASE_PATH = "/opt/ml"

base_dir = os.environ.get(parameters.BASE_PATH_ENV, SAGEMAKER_BASE_PATH)
model_dir = os.environ.get("SM_MODEL_DIR", os.path.join(base_dir, "model"))
"""The script's own model, also where the endpoint has many."""
code_dir = os.path.join(model_dir, "code")


class Environment:
    """A snapshot of the container's variables."""

    def __init__(self) -> None:
        given = os.environ.get
        self.module_name = given(parameters.USER_PROGRAM_ENV, DEFAULT_MODULE_NAME).removesuffix(".py")
        self.model_server_timeout = int(given(parameters.MODEL_SERVER_TIMEOUT_ENV, "60"))
        seconds = given(parameters.MODEL_SERVER_TIMEOUT_SECONDS_ENV)
        self.model_server_timeout_seconds = int(seconds) if seconds else None
        self.model_server_workers = given(parameters.MODEL_SERVER_WORKERS_ENV)
        self.startup_timeout = int(given(parameters.STARTUP_TIMEOUT_ENV, "600"))
        self.default_accept = given(parameters.DEFAULT_INVOCATIONS_ACCEPT_ENV, content_types.JSON)
        self.inference_http_port = self.management_http_port = given(parameters.BIND_TO_PORT_ENV, "8080")
        self.safe_port_range = given(parameters.SAFE_PORT_RANGE_ENV)
