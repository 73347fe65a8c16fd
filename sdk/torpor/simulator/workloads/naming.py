"""Made traces by a line of text, as a command line or a note has them: `zipf:models=500,rate_hz=20,duration_s=3600`."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from torpor.simulator.workloads.arrivals import BURSTY, POISSON, SESSIONS, TIMER, Gaps
from torpor.simulator.workloads.files import read
from torpor.simulator.workloads.rhythm import DAILY, EVEN, Rhythm
from torpor.simulator.workloads.synthetic import Synthetic, calibrated, zipf
from torpor.simulator.workloads.trace import BadTrace, Trace

MADE: Mapping[str, Callable[..., Synthetic]] = {"zipf": zipf, "calibrated": calibrated}
GAPS: Mapping[str, Gaps] = {"poisson": POISSON, "timer": TIMER, "bursty": BURSTY, "sessions": SESSIONS}
RHYTHMS: Mapping[str, Rhythm] = {"even": EVEN, "daily": DAILY}
_READ: Mapping[str, Callable[[str], Any]] = {
    "models": int,
    "s": float,
    "rate_hz": float,
    "duration_s": float,
    "seed": int,
    "constant": float,
    "gaps": GAPS.__getitem__,
    "rhythm": RHYTHMS.__getitem__,
}
_CHOICES: Mapping[str, Mapping[str, object]] = {"gaps": GAPS, "rhythm": RHYTHMS}


def named(trace: str | Path) -> Trace:
    """A made trace, or the file of this name. Raises BadTrace."""
    return made(trace) if isinstance(trace, str) and trace.partition(":")[0] in MADE else read(trace)


def made(text: str) -> Synthetic:
    """Raises BadTrace for a knob that is unknown or has no such value."""
    law, _, knobs = text.partition(":")
    if law not in MADE:
        raise BadTrace(f"{text!r}: a made trace is one of {', '.join(MADE)}")
    turned = dict(_knob(text, knob) for knob in knobs.split(",") if knob)
    try:
        return MADE[law](**turned)
    except TypeError:
        raise BadTrace(f"{text!r}: {law} has no such knob: {', '.join(turned)}") from None


def _knob(text: str, knob: str) -> tuple[str, Any]:
    name, _, value = knob.partition("=")
    if name not in _READ:
        raise BadTrace(f"{text!r}: {name!r} is no knob: choose of {', '.join(_READ)}")
    try:
        return name, _READ[name](value)
    except (ValueError, KeyError):
        choices = f"one of {', '.join(_CHOICES[name])}" if name in _CHOICES else "a number"
        raise BadTrace(f"{text!r}: {name} is {choices}, not {value!r}") from None
