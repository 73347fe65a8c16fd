"""Reads the settings that the endpoint itself acts on from the `Environment` of a variant's containers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from torpor_container.core.versions.version_policies import VersionPolicy
from torpor_container.settings import BY_FIELD, read_settings
from torpor_endpoint.core.resource_records import Container


@dataclass(frozen=True)
class VariantSettings:
    """The settings of a whole variant, under the table's field names. Times are in seconds.

    Any container may give them; an instance pool reads them once, when it is made.
    """

    keep_alive: str
    idle_s: float
    concurrency: int
    versions_poll_s: float
    update: str
    rollout_warm: bool = False
    versions: VersionPolicy | None = None
    groups: bool = False
    neighbours_bytes: int = 0

    @classmethod
    def read(cls, containers: Sequence[Container]) -> "VariantSettings":
        """Raises BadSetting, which names the variable. CreateModel refuses containers that disagree."""
        given: dict[str, str] = {}
        for container in containers:
            given |= {name: text for name, text in container.environment.items() if name in OF_VARIANT}
        return read_settings(cls, given)


OF_VARIANT = tuple(BY_FIELD[field.name].variable for field in fields(VariantSettings))
"""The variables of these settings."""


@dataclass(frozen=True)
class TimeLimits:
    """The time limits of one container, in seconds, under the table's field names."""

    ready_wait_s: float
    invocation_timeout_s: float

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> "TimeLimits":
        """Read a container's `Environment`. Raises BadSetting, which names the variable."""
        return read_settings(cls, environment)

    @property
    def answer_within_s(self) -> float:
        """The longest time that the container may take to make the model ready and to predict once."""
        return self.ready_wait_s + self.invocation_timeout_s
