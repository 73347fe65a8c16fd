"""One boto3 client for all tests of CloudWatch Logs; each test has log files of its own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.account.helpers.logs_over_folder import LogsOverFolder
from torpor_account.aws import in_process


@pytest.fixture
def log_files(tmp_path: Path) -> Iterator[LogsOverFolder]:
    log_files = LogsOverFolder(tmp_path)
    yield log_files
    log_files.database.close()


@pytest.fixture(scope="session")
def connected(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A client, and a list: the client reads the last log files in it."""
    all_log_files: list[LogsOverFolder] = []
    boto = LogsOverFolder(tmp_path_factory.mktemp("logs")).client()
    boto.meta.events.register_first(
        "before-send.cloudwatch-logs", lambda request, **_: in_process.answer(all_log_files[-1].service, request)
    )
    return boto, all_log_files


@pytest.fixture
def boto(connected: Any, log_files: LogsOverFolder) -> Any:
    connected[1].append(log_files)
    return connected[0]
