"""One boto3 client for all tests of Logs, over a site that is new for each."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.endpoint.services.helpers.logs_over_folder import LogsOverFolder
from torpor_endpoint.aws import in_process


@pytest.fixture
def site(tmp_path: Path) -> Iterator[LogsOverFolder]:
    site = LogsOverFolder(tmp_path)
    yield site
    site.database.close()


@pytest.fixture(scope="session")
def connected(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A client and the list whose last site it speaks to."""
    sites: list[LogsOverFolder] = []
    boto = LogsOverFolder(tmp_path_factory.mktemp("logs")).client()
    boto.meta.events.register_first(
        "before-send.cloudwatch-logs", lambda request, **_: in_process.answer(sites[-1].service, request)
    )
    return boto, sites


@pytest.fixture
def boto(connected: Any, site: LogsOverFolder) -> Any:
    connected[1].append(site)
    return connected[0]
