from collections.abc import Iterator

import pytest
from autoscaling_desk import Desk


@pytest.fixture(scope="session")
def autoscaling_desk() -> Iterator[Desk]:
    desk = Desk()
    yield desk
    desk.database.close()


@pytest.fixture
def desk(autoscaling_desk: Desk) -> Desk:
    """With nothing registered."""
    autoscaling_desk.clear()
    return autoscaling_desk
