"""Draws delays from distributions of AWS's cold starts, so that a team feels before it ships what its users will feel.

The times were observed, and collected on 2026-11-21; AWS publishes none. Each row gives the span of 95 % of them.

- A serverless environment: "cold starts in the order of seconds" (AWS machine learning blog, 2022-10-26, on its
  benchmarking toolkit); 1 to 5 seconds (R. Bhatia's course on SageMaker Serverless). Some users report minutes
  (aws/sagemaker-python-sdk#3446, 2022-10).
- An instance, from the decision to start it until it serves: about 5 minutes (AWS blog on scaling to zero, 2024-12, as
  cited); 9 min 24 s from the first request, for a large model (an observation of 2026-07); endpoints that took a little
  over 10 minutes to be in service (hashicorp/terraform-provider-aws#39090, 2024-08).
"""

from collections.abc import Callable
from math import exp, log, sqrt

from torpor_container.frozen_class import frozen


@frozen
class DelayLaw:
    """A log-normal distribution of seconds, with 95 % between `low_s` and `high_s`."""

    low_s: float
    high_s: float

    def at(self, normal: float) -> float:
        """The time for a draw from the standard normal distribution."""
        return exp(log(sqrt(self.low_s * self.high_s)) + normal * log(self.high_s / self.low_s) / 4)


AWS = {
    "serverless": DelayLaw(1.0, 5.0),
    "instance": DelayLaw(180.0, 600.0),
}

EMULATED: dict[str, dict[str, DelayLaw]] = {"aws": AWS}
"""By the name that `--emulate` takes."""

Draw = Callable[[], float]


def start_delay_s(emulate: str | None, serverless: bool, draw: Draw) -> float:
    """The least time until an instance is ready, in seconds. `draw` gives standard normal numbers."""
    if emulate is None:
        return 0.0
    return EMULATED[emulate]["serverless" if serverless else "instance"].at(draw())
