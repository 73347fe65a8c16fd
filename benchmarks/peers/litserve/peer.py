"""LitServe with one model: its defaults, which are one worker that predicts and one process that speaks HTTP."""

import json
from dataclasses import dataclass

from benchmarks.peers.one_model import OneModel


@dataclass(frozen=True)
class LitServe(OneModel):
    name: str = "LitServe"
    environment: str = "litserve"
    member: str = "input"

    def said(self, body: bytes) -> float:
        return float(json.loads(body)["output"])
