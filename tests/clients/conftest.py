"""The fixtures that the tests of real clients share with the endpoint's own: a live endpoint, and small models."""

import os
from collections.abc import Iterator

import pytest

from tests.endpoint.helpers.live_endpoint import LiveEndpoint


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveEndpoint]:
    """With TORPOR_CLIENTS_AUTH the endpoint verifies its callers, and the clients have the root's access key."""
    options = ("--auth",) if os.environ.get("TORPOR_CLIENTS_AUTH") else ()
    with LiveEndpoint(tmp_path_factory.mktemp("live"), *options) as endpoint:
        yield endpoint
