"""An older boto3, in a Python of its own."""

import os
import subprocess
from pathlib import Path

from tests.clients.helpers.wiring import only_if_asked, variables
from tests.endpoint.helpers.live_endpoint import LiveEndpoint
from tests.endpoint.helpers.model_artifacts import ROW, booster, packed, predicted

HERE = Path(__file__).parent


@only_if_asked("boto3-1.34", "make clients-old-boto3")
def test_everything_that_it_calls_is_answered(live: LiveEndpoint, tmp_path: Path) -> None:
    artifact = tmp_path / "a.tar.gz"
    artifact.write_bytes(packed({"model.json": booster()}))
    command: list[str | Path] = [
        os.environ["TORPOR_PYTHON"],
        HERE / "old_boto3.py",
        artifact,
        ROW.decode(),
        str(predicted()),
    ]
    subprocess.run(command, env=variables(live), check=True, timeout=120)
