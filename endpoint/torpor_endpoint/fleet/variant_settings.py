"""The settings that the endpoint itself acts on, of those that a model's `Environment` gives to its variant."""

from collections.abc import Mapping
from dataclasses import dataclass

from torpor_container.settings import read_settings


@dataclass(frozen=True)
class VariantSettings:
    """A part of the table of settings, with its field names. Times in seconds.

    An instance pool reads it once, when the pool is made. All other settings are the instance's.
    """

    keep_alive: str
    idle_s: float
    concurrency: int
    ready_wait_s: float
    invocation_timeout_s: float

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> "VariantSettings":
        """Read a container's `Environment`. Raises BadSetting, which names the variable."""
        return read_settings(cls, environment)

    @property
    def answer_within_s(self) -> float:
        """How long an instance may take to answer: it makes the model ready, then it predicts once."""
        return self.ready_wait_s + self.invocation_timeout_s
