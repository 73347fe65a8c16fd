"""Triton with its Python backend and dynamic batching, over the Open Inference Protocol."""

from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers import open_inference
from benchmarks.peers.open_inference import stem
from benchmarks.peers.peer import Site

PROGRAM = Path(__file__).with_name("program.py").resolve()


@dataclass(frozen=True)
class Triton:
    """With one model, all that wait can be batched; with several, each of them has a queue and a process."""

    name: str
    models_max: int | None
    environment: str = "triton"

    def command(self, site: Site) -> list[str]:
        return ["python", str(PROGRAM), str(site.models), str(site.port), *map(stem, site.names)]

    def request(self, model: str) -> bytes:
        return open_inference.request(model)

    def said(self, body: bytes) -> float:
        return open_inference.said(body)

    def bring(self, model: str) -> list[bytes] | None:
        """All are loaded as it starts, each in a process that imports XGBoost: too many for the cold calls' others."""
        return None
