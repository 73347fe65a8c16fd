from collections.abc import Iterator

import pytest

from tests.endpoint.services.helpers.in_memory_autoscaling import InMemoryAutoscaling
from tests.endpoint.services.helpers.scaling_of_fake_variant import FakeVariantScaling


@pytest.fixture(scope="session")
def autoscaling_desk() -> Iterator[InMemoryAutoscaling]:
    desk = InMemoryAutoscaling()
    yield desk
    desk.database.close()


@pytest.fixture
def desk(autoscaling_desk: InMemoryAutoscaling) -> InMemoryAutoscaling:
    """With nothing registered."""
    autoscaling_desk.clear()
    return autoscaling_desk


@pytest.fixture(scope="module")
def scaling_desk() -> Iterator[FakeVariantScaling]:
    desk = FakeVariantScaling()
    yield desk
    desk.close()


@pytest.fixture
def scaled(scaling_desk: FakeVariantScaling) -> FakeVariantScaling:
    """At noon, one instance, nothing registered; every delay as on AWS."""
    scaling_desk.site.begin_anew()
    return scaling_desk
