"""Clients of the Open Inference Protocol, in a Python of their own."""

import os
import subprocess
from pathlib import Path

from tests.clients.helpers.wiring import only_if_asked, variables
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import ROW, booster, packed, predicted, put
from tests.helpers.ports import free_port

HERE = Path(__file__).parent


PROGRAMS = {
    "triton": "v2_clients.py",
    "kserve": "kserve_client.py",
    "mlserver": "mlserver_client.py",
    "stubs": "open_inference_grpc.py",
}
"""Each needs a Python of its own: two of their generated modules clash in one process."""


@only_if_asked("open-inference", "make clients-open-inference")
def test_tensors_come_and_go_as_the_clients_have_them(tmp_path: Path) -> None:
    port = free_port()
    with LiveEndpoint(tmp_path, "--grpc-port", str(port)) as live:
        _called(live, port, PROGRAMS[os.environ.get("TORPOR_PROGRAM", "triton")])


def _called(live: LiveEndpoint, port: int, program: str) -> None:
    put(live.folder("tensors"), {"models/houses.tar.gz": packed({"model.json": booster()})})
    live.deploy("tensors", Variant(many("tensors/models")))
    command: list[str | Path] = [
        os.environ["TORPOR_PYTHON"],
        HERE / program,
        live.url,
        f"127.0.0.1:{port}",
        "houses",
        ROW.decode(),
        str(predicted()),
    ]
    subprocess.run(command, env=variables(live), check=True, timeout=120)
