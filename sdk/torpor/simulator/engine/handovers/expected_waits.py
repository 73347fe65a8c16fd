"""How long a simulated request would wait for a load, or behind others: from the profiles, as if nothing else went on.

An endpoint measures both (`torpor_endpoint.in_service.wait_estimates`).
"""

from torpor.workloads.profile import ModelProfile
from torpor_endpoint.core.routing.second_copies import is_load_quicker


def expects_quicker_load(profile: ModelProfile, in_flight: int, threads: int, processors: float) -> bool:
    """Whether one more request for this model is answered sooner where it waits for the load than at an instance with
    so many requests, which answers `threads` at once by so many `processors` (infinity: as many as they need)."""
    pace_s = max((profile.predict_delay_s + profile.predict_s) / threads, profile.predict_s / processors)
    return is_load_quicker(in_flight, pace_s, profile.pull_s + profile.into_memory_s)
