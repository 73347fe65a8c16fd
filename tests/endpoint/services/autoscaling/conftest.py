from collections.abc import Iterator

import pytest

from tests.endpoint.services.autoscaling.autoscaling_desk import Desk
from tests.endpoint.services.autoscaling.scaling_site import ScalingDesk


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


@pytest.fixture(scope="module")
def scaling_desk() -> Iterator[ScalingDesk]:
    desk = ScalingDesk()
    yield desk
    desk.close()


@pytest.fixture
def scaled(scaling_desk: ScalingDesk) -> ScalingDesk:
    """At noon, one instance, nothing registered; every delay as on AWS."""
    scaling_desk.site.restart()
    return scaling_desk
