"""The AWS SDK for JavaScript, version 3, under Node.js."""

import os
import subprocess
from pathlib import Path

from tests.clients.helpers.wiring import only_if_asked, variables
from tests.endpoint.helpers.live_endpoint import LiveEndpoint
from tests.endpoint.helpers.model_artifacts import ROW, booster, packed, predicted


@only_if_asked("javascript", "make clients-javascript")
def test_everything_that_it_calls_is_answered(live: LiveEndpoint, tmp_path: Path) -> None:
    """TORPOR_JAVASCRIPT is a copy of the folder `javascript` with its packages installed."""
    artifact = tmp_path / "a.tar.gz"
    artifact.write_bytes(packed({"model.json": booster()}))
    program = Path(os.environ["TORPOR_JAVASCRIPT"]) / "client.mjs"
    subprocess.run(
        ["node", program, artifact, ROW.decode(), str(predicted())], env=variables(live), check=True, timeout=120
    )
