from collections.abc import Iterator

import pytest

from tests.endpoint.services.helpers.components_plane import ComponentsPlane


@pytest.fixture
def plane() -> Iterator[ComponentsPlane]:
    plane = ComponentsPlane()
    yield plane
    plane.close()


@pytest.fixture
def strict_plane() -> Iterator[ComponentsPlane]:
    plane = ComponentsPlane(strict=True)
    yield plane
    plane.close()
