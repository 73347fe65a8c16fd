"""The two files that the SageMaker Python SDK reads before it asks AWS itself: its defaults, and its role.

The SDK, version 2 and 3 alike, asks STS at AWS's own address whatever `AWS_ENDPOINT_URL` says. With its default bucket
in the one file and its execution role in the other, it has nothing left to ask.
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from torpor_account.core.access.rights.right_rows import default_role

MARK = "torpor env --sagemaker"
"""Stands in every file that Torpor writes. A file without it belongs to somebody else, and is not changed."""

CONFIG_VARIABLE = "SAGEMAKER_USER_CONFIG_OVERRIDE"
METADATA = Path("/opt/ml/metadata/resource-metadata.json")
"""The only place where the SDK looks for the role; no variable changes it."""

# The SDK's own way from the caller's identity to a role: session.py, `get_caller_identity_arn`.
ASSUMED = re.compile(r"(arn:[^:]+):sts::(\d+):assumed-role/(.+?)/.*")

CONFIG = """\
# Written by `{mark}`, which overwrites it. Remove this line to keep your own changes.
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
    CURRENT = "up to date"
    FOREIGN = "not Torpor's, and stays as it is"


@dataclass(frozen=True)
class Identity:
    """The identity that an endpoint gives the SDK."""

    account: str
    role: str
    region: str

    @classmethod
    def of(cls, caller: Mapping[str, Any], region: str) -> "Identity":
        """The identity in an answer of GetCallerIdentity: the role that was assumed, or for the root and for users, who
        are no role, the one that every endpoint has."""
        account = caller["Account"]
        assumed = ASSUMED.fullmatch(caller["Arn"])
        role = default_role(account) if assumed is None else assumed.expand(r"\1:iam::\2:role/\3")
        return cls(account, role, region)

    @property
    def bucket(self) -> str:
        """The name of the SDK's default bucket."""
        return f"sagemaker-{self.region}-{self.account}"

    @property
    def config(self) -> str:
        return CONFIG.format(mark=MARK, bucket=self.bucket, role=self.role)

    @property
    def metadata(self) -> str:
        return json.dumps({"ExecutionRoleArn": self.role, "WrittenBy": MARK}) + "\n"


def config_path(environment: Mapping[str, str] = os.environ) -> Path:
    """The path of Torpor's own file, so that the user's defaults for AWS stay as they are."""
    folder = environment.get("XDG_CONFIG_HOME") or Path(environment.get("HOME", "~"), ".config")
    return Path(folder, "torpor", "sagemaker.yaml").expanduser()


def put(path: Path, text: str) -> Outcome:
    """Write a file of Torpor's, atomically, unless somebody else's is there. Raises OSError if it cannot be written."""
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
