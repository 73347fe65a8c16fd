"""A peer with one model, started as `program.py MODEL PORT`: a row in one member of a JSON body."""

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from benchmarks import scene
from benchmarks.client import request
from benchmarks.peers.peer import Site


@dataclass(frozen=True)
class OneModel(ABC):
    """`member` is the row's; the program is in the folder of its environment's name."""

    name: str
    environment: str
    member: str
    models_max: int | None = 1

    def command(self, site: Site) -> list[str]:
        program = Path(__file__).parent.resolve() / self.environment / "program.py"
        model = site.models / site.names[0].replace(".tar.gz", ".ubj")
        return ["python", str(program), str(model), str(site.port)]

    def request(self, model: str) -> bytes:
        row = [float(cell) for cell in scene.ROW.split(b",")]
        return request("/predict", {"content-type": "application/json"}, json.dumps({self.member: row}).encode())

    @abstractmethod
    def said(self, body: bytes) -> float: ...

    def bring(self, model: str) -> list[bytes] | None:
        return None
