"""BentoML with one model: a service with its defaults, which are one process."""

from dataclasses import dataclass

from benchmarks.own_answers import number_in
from benchmarks.peers.one_model import OneModel


@dataclass(frozen=True)
class BentoML(OneModel):
    name: str = "BentoML"
    environment: str = "bentoml"
    member: str = "row"

    def said(self, body: bytes) -> float:
        return number_in(body)
