"""Leads the boto3 clients of the code under test to an endpoint, by the variables that they read."""

import os
import sys
from collections.abc import Mapping
from typing import Any, Protocol

PREFIX = "AWS_"


class Patching(Protocol):
    """pytest's MonkeyPatch, as far as it is needed here."""

    def setenv(self, name: str, value: str) -> None: ...

    def delenv(self, name: str) -> None: ...

    def setattr(self, target: object, name: str, value: object) -> None: ...


def lead_here(environment: Mapping[str, str], patching: Patching) -> None:
    """Set these variables, and remove every other `AWS_*` variable: a profile or the URL of one service would lead
    clients elsewhere. boto3's default session, which has read the old variables, is replaced when it is next used."""
    for name in [name for name in os.environ if name.startswith(PREFIX) and name not in environment]:
        patching.delenv(name)
    for name, value in environment.items():
        patching.setenv(name, value)
    boto3: Any = sys.modules.get("boto3")
    if boto3 is not None:
        patching.setattr(boto3, "DEFAULT_SESSION", None)
