"""What the tests of real clients share with the endpoint's own: a live endpoint, and small models."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "endpoint"))

from live import LiveEndpoint


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveEndpoint]:
    with LiveEndpoint(tmp_path_factory.mktemp("live")) as endpoint:
        yield endpoint
