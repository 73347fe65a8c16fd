"""Whether a profile that somebody gives can be: its sizes and times, told by their field."""

from collections.abc import Mapping

from torpor.simulator.fitting.times import TIMES
from torpor.validation import AMOUNT, BYTES, Kind, a, check, wrong
from torpor.workloads.profile import ModelProfile
from torpor.workloads.trace import BadTrace

PROFILES = a(Mapping, "is a CSV file's name, or a ModelProfile by the name of each model")
PROFILE = a(ModelProfile, "is a ModelProfile")
FIELDS: Mapping[str, Kind] = {"memory_bytes": BYTES, "disk_bytes": BYTES, **dict.fromkeys(TIMES, AMOUNT)}


def sound(profiles: Mapping[str, ModelProfile]) -> Mapping[str, ModelProfile]:
    """The same. Raises BadTrace, naming the model and the field."""
    check(BadTrace, {"profiles": PROFILES}, {"profiles": profiles})
    for name, profile in profiles.items():
        at = f"profiles[{name!r}]"
        check(BadTrace, {at: PROFILE}, {at: profile})
        if told := unsound(profile):
            raise BadTrace(f"{at}: {told}")
    return profiles


def unsound(profile: ModelProfile) -> str:
    """The first field that cannot be, in words; empty if all can."""
    return next(filter(None, (wrong(name, getattr(profile, name), kind) for name, kind in FIELDS.items())), "")
