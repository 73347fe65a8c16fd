"""Files, read and written."""

import json
import os
from typing import Any

from sagemaker_containers import _env


def read_file(path: str, mode: str = "r") -> Any:
    with open(path, mode) as file:
        return file.read()


def write_file(path: str, data: Any, mode: str = "w") -> None:
    with open(path, mode) as file:
        file.write(data)


def read_json(path: str) -> Any:
    with open(path) as file:
        return json.load(file)


def write_failure_file(failure_msg: str) -> None:
    write_file(os.path.join(_env.output_dir, "failure"), failure_msg)
