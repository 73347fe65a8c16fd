"""Leads the boto3 clients of the code under test to an endpoint, by the variables that they read."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

PREFIX = "AWS_"


@contextmanager
def lead_here(environment: Mapping[str, str]) -> Iterator[None]:
    """Set these variables for the block, and remove every other `AWS_*` variable: a profile, or the URL of one service,
    would lead clients elsewhere. boto3 makes its default session anew, since the old one has read the old variables."""
    removed = [name for name in os.environ if name.startswith(PREFIX) and name not in environment]
    before = {name: os.environ.get(name) for name in (*removed, *environment)}
    session = _replace_session(None)
    try:
        for name in removed:
            del os.environ[name]
        os.environ.update(environment)
        yield
    finally:
        _replace_session(session)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _replace_session(session: Any) -> Any:
    """Make this boto3's default session (None: a new one when it is needed), and return the former one."""
    boto3: Any = sys.modules.get("boto3")
    if boto3 is None:
        return None
    before, boto3.DEFAULT_SESSION = boto3.DEFAULT_SESSION, session
    return before
