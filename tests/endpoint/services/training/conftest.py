"""A site for each training test, over the zygote of all tests."""

from pathlib import Path

import pytest

from tests.endpoint.services.training.training_site import Site
from torpor_container.processes.zygote_client import ZygoteClient


@pytest.fixture
def site(tmp_path: Path, zygote: ZygoteClient) -> Site:
    return Site(tmp_path, zygote)
