"""One live endpoint for all tests that do not need one of their own."""

from collections.abc import Iterator
from contextlib import suppress

import pytest
from botocore.exceptions import ClientError

from tests.endpoint.helpers.live_endpoint import LiveEndpoint

OF_MANY_FILES = frozenset({"Houses", "Faced"})
"""The endpoints that tests of several files share."""


@pytest.fixture(scope="session")
def started() -> list[LiveEndpoint]:
    """The live endpoint that all share, once a test has asked for it."""
    return []


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory, started: list[LiveEndpoint]) -> Iterator[LiveEndpoint]:
    with LiveEndpoint(tmp_path_factory.mktemp("live"), frameworks=True) as endpoint:
        started.append(endpoint)
        yield endpoint


@pytest.fixture(scope="module", autouse=True)
def _gone_with_their_file(started: list[LiveEndpoint]) -> Iterator[None]:
    """Deletes what a file of tests has left in service: each instance takes processor time until the end, also at
    rest."""
    yield
    for live in started:
        pages = live.sagemaker.get_paginator("list_endpoints").paginate()
        names = {endpoint["EndpointName"] for page in pages for endpoint in page["Endpoints"]}
        for name in names - OF_MANY_FILES:
            with suppress(ClientError):  # it goes already, or is updated
                live.sagemaker.delete_endpoint(EndpointName=name)
