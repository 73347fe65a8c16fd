"""The two files in which the SageMaker Python SDK looks before it asks AWS itself: its defaults, and its role.

The SDK, version 2 and 3 alike, asks STS at AWS's own address whatever `AWS_ENDPOINT_URL` says. With its default bucket
in the one file and its execution role in the other it has nothing left to ask.
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

MARK = "torpor env --sagemaker"
"""In every file of ours. One without it is somebody else's, and is left as it is."""

CONFIG_VARIABLE = "SAGEMAKER_USER_CONFIG_OVERRIDE"
METADATA = Path("/opt/ml/metadata/resource-metadata.json")
"""The one place where the SDK looks for the role: no variable moves it."""

# As the SDK itself makes a role of the caller's identity: session.py, `get_caller_identity_arn`.
ASSUMED = re.compile(r"(arn:[^:]+):sts::(\d+):assumed-role/(.+?)/.*")

CONFIG = """\
# Written by `{mark}`, and written anew by it. Take this line out, and it is yours.
SchemaVersion: "1.0"
SageMaker:
  PythonSDK:
    Modules:
      Session:
        DefaultS3Bucket: {bucket}
      TelemetryOptOut: true
  Model:
    ExecutionRoleArn: {role}
  TrainingJob:
    RoleArn: {role}
"""


class Outcome(Enum):
    WRITTEN = "written"
    CURRENT = "as it should be already"
    FOREIGN = "somebody else's, and left as it is"


@dataclass(frozen=True)
class Identity:
    """Who an endpoint takes the SDK for."""

    account: str
    role: str
    region: str

    @classmethod
    def of(cls, caller: Mapping[str, Any], region: str) -> "Identity":
        """From GetCallerIdentity's answer, which names an assumed role."""
        role = ASSUMED.sub(r"\1:iam::\2:role/\3", caller["Arn"])
        return cls(caller["Account"], role, region)

    @property
    def bucket(self) -> str:
        """The name that the SDK would choose."""
        return f"sagemaker-{self.region}-{self.account}"

    @property
    def config(self) -> str:
        return CONFIG.format(mark=MARK, bucket=self.bucket, role=self.role)

    @property
    def metadata(self) -> str:
        return json.dumps({"ExecutionRoleArn": self.role, "WrittenBy": MARK}) + "\n"


def config_path(environment: Mapping[str, str] = os.environ) -> Path:
    """A place of Torpor's own, so that whatever defaults the user has for AWS stay as they are."""
    folder = environment.get("XDG_CONFIG_HOME") or Path(environment.get("HOME", "~"), ".config")
    return Path(folder, "torpor", "sagemaker.yaml").expanduser()


def put(path: Path, text: str) -> Outcome:
    """Write a file of ours, whole or not at all. Raises OSError where that is not allowed."""
    found = path.read_text(errors="replace") if path.exists() else MARK
    if found == text:
        return Outcome.CURRENT
    if MARK not in found:
        return Outcome.FOREIGN
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    unfinished.write_text(text)
    unfinished.replace(path)
    return Outcome.WRITTEN
