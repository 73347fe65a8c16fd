"""A folder for each test of processing, over the zygote of all tests."""

from pathlib import Path

import pytest

from tests.endpoint.services.helpers.processing_in_folder import ProcessingFolder
from torpor_container.processes.zygote_client import ZygoteClient


@pytest.fixture
def processing(tmp_path: Path, zygote: ZygoteClient) -> ProcessingFolder:
    return ProcessingFolder(tmp_path, zygote)
