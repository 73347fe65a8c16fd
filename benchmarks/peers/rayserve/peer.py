"""Ray Serve with model multiplexing: one replica, which loads a model when a request first names it."""

from dataclasses import dataclass
from pathlib import Path

from benchmarks import scene
from benchmarks.client import request
from benchmarks.own_answers import number_in
from benchmarks.peers.peer import Site

PROGRAM = Path(__file__).with_name("program.py").resolve()


@dataclass(frozen=True)
class RayServe:
    name: str = "Ray Serve, multiplexed"
    environment: str = "rayserve"
    models_max: int | None = None

    def command(self, site: Site) -> list[str]:
        return ["python", str(PROGRAM), str(site.models), str(site.port), str(len(site.names))]

    def request(self, model: str) -> bytes:
        headers = {"content-type": "text/csv", "serve_multiplexed_model_id": model.removesuffix(".tar.gz")}
        return request("/", headers, scene.ROW)

    def said(self, body: bytes) -> float:
        return number_in(body)

    def bring(self, model: str) -> list[bytes] | None:
        return []
