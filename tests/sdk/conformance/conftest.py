"""What a run against the container with planted faults is given."""

from pathlib import Path

import pytest

from tests.sdk.helpers.broken_container import LARGE, SLOW, STREAM
from torpor.conformance.container import Material
from torpor.conformance.sample_inputs import CSV, ModelArtifact, Sample


@pytest.fixture
def material(tmp_path: Path) -> Material:
    for name in ("small", LARGE):
        (tmp_path / name).mkdir()
    return Material(
        sample=Sample(CSV, b"1,2,3\n"),
        slow=Sample(CSV, SLOW),
        stream=Sample(CSV, STREAM),
        models=(ModelArtifact("small.tar.gz", tmp_path / "small"),),
        too_large=ModelArtifact("large.tar.gz", tmp_path / LARGE),
    )
