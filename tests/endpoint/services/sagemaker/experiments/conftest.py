from collections.abc import Iterator

import pytest

from tests.endpoint.services.helpers.in_memory_experiments import InMemoryExperiments


@pytest.fixture(scope="session")
def session_lab() -> Iterator[InMemoryExperiments]:
    lab = InMemoryExperiments()
    lab.models()
    yield lab
    lab.close()


@pytest.fixture
def lab(session_lab: InMemoryExperiments) -> InMemoryExperiments:
    """With the endpoint `houses`, whose one production variant is Old, and no experiment."""
    session_lab.clear()
    session_lab.deploy()
    return session_lab
