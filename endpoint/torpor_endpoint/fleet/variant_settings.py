"""Reads the settings that the endpoint itself acts on from the `Environment` of a variant's container."""

from collections.abc import Mapping
from dataclasses import dataclass

from torpor_container.settings import read_settings


@dataclass(frozen=True)
class VariantSettings:
    """Some rows of the table of settings, under the table's field names. Times are in seconds.

    An instance pool reads them once, when it is made. The instance reads all other settings.
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
        """The longest time, in seconds, that an instance may take to make the model ready and to predict once."""
        return self.ready_wait_s + self.invocation_timeout_s
