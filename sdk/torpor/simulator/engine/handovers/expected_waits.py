"""How long a simulated request would wait for a load, or behind others: from the profiles, as if nothing else went on.

An endpoint measures both (`torpor_endpoint.in_service.wait_estimates`).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from torpor.workloads.profile import ModelProfile
from torpor_endpoint.core.routing.second_copies import is_load_quicker


@dataclass(frozen=True)
class ExpectedWaits:
    """Of instances that answer `threads` requests at once, by so many `processors`; None: as many as they need."""

    profiles: Mapping[str, ModelProfile]
    threads: int
    processors: int | None

    def is_load_quicker(self, name: str, in_flight: int) -> bool:
        """Whether one more request for this model is answered sooner where it waits for the load."""
        profile = self.profiles[name]
        pace_s = (profile.predict_delay_s + profile.predict_s) / self.threads
        if self.processors is not None:
            pace_s = max(pace_s, profile.predict_s / self.processors)
        return is_load_quicker(in_flight, pace_s, profile.pull_s + profile.into_memory_s)
