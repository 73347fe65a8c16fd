from collections.abc import Iterator

import pytest

from tests.endpoint.services.helpers.in_memory_autoscaling import InMemoryAutoscaling
from tests.endpoint.services.helpers.scaling_of_fake_variant import FakeVariantScaling


@pytest.fixture(scope="session")
def session_autoscaling() -> Iterator[InMemoryAutoscaling]:
    autoscaling = InMemoryAutoscaling()
    yield autoscaling
    autoscaling.database.close()


@pytest.fixture
def autoscaling(session_autoscaling: InMemoryAutoscaling) -> InMemoryAutoscaling:
    """With nothing registered."""
    session_autoscaling.clear()
    return session_autoscaling


@pytest.fixture(scope="module")
def module_scaling() -> Iterator[FakeVariantScaling]:
    autoscaling = FakeVariantScaling()
    yield autoscaling
    autoscaling.close()


@pytest.fixture
def scaled(module_scaling: FakeVariantScaling) -> FakeVariantScaling:
    """At noon, one instance, nothing registered; every delay as on AWS."""
    module_scaling.variant.restart()
    return module_scaling
