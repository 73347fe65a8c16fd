"""One store behind a real port for all of these tests, and a bucket for each."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.account.helpers.s3_server import Server, client, serving


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("store")) as running:
        yield running


@pytest.fixture(scope="session")
def s3(server: Server) -> Any:
    return client(server.url)


@pytest.fixture
def bucket(s3: Any, request: pytest.FixtureRequest) -> str:
    """A new, empty bucket."""
    name = f"b-{abs(hash(request.node.nodeid)):x}"[:40]
    s3.create_bucket(Bucket=name)
    return name
