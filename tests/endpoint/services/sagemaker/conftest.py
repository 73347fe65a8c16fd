from collections.abc import Iterator

import pytest

from tests.endpoint.services.helpers.in_memory_control_plane import InMemoryControlPlane


@pytest.fixture
def desk() -> Iterator[InMemoryControlPlane]:
    desk = InMemoryControlPlane()
    yield desk
    desk.close()


@pytest.fixture
def strict_desk() -> Iterator[InMemoryControlPlane]:
    desk = InMemoryControlPlane(strict=True)
    yield desk
    desk.close()
