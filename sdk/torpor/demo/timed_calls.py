"""Calls to the demo's endpoint, each with its time and its steps, and their quantiles."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import quantiles
from typing import Any

from torpor.calling.answer import steps_ms
from torpor.demo.houses import A_HOUSE
from torpor.hosting.local_endpoint import Local


@dataclass(frozen=True)
class DemoCall:
    """One answered call. `steps_ms` is from its Server-Timing header."""

    target: str
    price: float
    took_s: float
    steps_ms: dict[str, float]


def call(endpoint: Local, target: str) -> DemoCall:
    """Ask one model for the price of one house."""
    began_s = time.perf_counter()
    answer = endpoint.invoke_raw(target, [A_HOUSE])
    prediction = answer["Body"].read()
    took_s = time.perf_counter() - began_s
    timing = answer["ResponseMetadata"]["HTTPHeaders"]["server-timing"]
    return DemoCall(target, _price(prediction), took_s, steps_ms(timing))


def quantile(calls: Sequence[DemoCall], hundredths: int) -> float:
    """The seconds within which this many of a hundred calls were answered."""
    return quantiles([call.took_s for call in calls], n=100, method="inclusive")[hundredths - 1]


def _price(body: bytes) -> float:
    value: Any = json.loads(body)
    while isinstance(value, list):
        value = value[0]
    return float(value)
