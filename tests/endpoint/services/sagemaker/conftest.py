from collections.abc import Iterator

import pytest

from tests.endpoint.services.helpers.in_memory_control_plane import InMemoryControlPlane


@pytest.fixture
def control_plane() -> Iterator[InMemoryControlPlane]:
    control_plane = InMemoryControlPlane()
    yield control_plane
    control_plane.close()


@pytest.fixture
def strict_control_plane() -> Iterator[InMemoryControlPlane]:
    control_plane = InMemoryControlPlane(strict=True)
    yield control_plane
    control_plane.close()
