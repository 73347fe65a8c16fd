"""BentoML with one model: a service with its defaults, which are one process."""

import json
from dataclasses import dataclass
from pathlib import Path

from benchmarks import scene
from benchmarks.client import request
from benchmarks.own_answers import number_in
from benchmarks.peers.peer import Site

PROGRAM = Path(__file__).with_name("program.py").resolve()
BODY = json.dumps({"row": [float(cell) for cell in scene.ROW.split(b",")]}).encode()


@dataclass(frozen=True)
class BentoML:
    name: str = "BentoML"
    environment: str = "bentoml"
    models_max: int | None = 1

    def command(self, site: Site) -> list[str]:
        model = site.models / site.names[0].replace(".tar.gz", ".ubj")
        return ["python", str(PROGRAM), str(model), str(site.port)]

    def request(self, model: str) -> bytes:
        return request("/predict", {"content-type": "application/json"}, BODY)

    def said(self, body: bytes) -> float:
        return number_in(body)

    def bring(self, model: str) -> list[bytes] | None:
        return None
