from collections.abc import Iterator

import pytest

from tests.endpoint.services.sagemaker.control_desk import Desk


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    yield desk
    desk.close()


@pytest.fixture
def strict_desk() -> Iterator[Desk]:
    desk = Desk(strict=True)
    yield desk
    desk.close()
