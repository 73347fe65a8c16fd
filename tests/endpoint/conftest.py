"""One live endpoint for all tests that do not need one of their own."""

from collections.abc import Iterator

import pytest

from tests.endpoint.helpers.live_endpoint import LiveEndpoint


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveEndpoint]:
    with LiveEndpoint(tmp_path_factory.mktemp("live"), frameworks=True) as endpoint:
        yield endpoint
