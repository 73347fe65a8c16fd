"""A folder for each test of tuning, over the zygote of all tests."""

from pathlib import Path

import pytest

from tests.endpoint.services.helpers.training_in_folder import TrainingFolder
from torpor_container.processes.zygote_client import ZygoteClient


@pytest.fixture
def training(tmp_path: Path, zygote: ZygoteClient) -> TrainingFolder:
    return TrainingFolder(tmp_path, zygote)
