"""The models, trained once, and their artifacts."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.container.helpers.format_models import ARTIFACTS, COLUMNS, Trained


@pytest.fixture(scope="session")
def trained() -> Trained:
    rows = np.random.default_rng(7).normal(size=(60, COLUMNS)).astype(np.float32)
    return Trained(rows, rows @ np.arange(1.0, COLUMNS + 1))


@pytest.fixture(scope="session")
def artifact(trained: Trained, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Write one of ARTIFACTS into a directory of its own, or into the one given."""

    def write(name: str, directory: Path | None = None) -> Path:
        directory = directory or tmp_path_factory.mktemp("artifact")
        ARTIFACTS[name][2](trained, directory / name)
        return directory

    return write
