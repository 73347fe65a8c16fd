"""Made traces by a line of text, as a command line or a note has them: `zipf:models=500,rate_hz=20,duration_s=3600`."""

import re
from collections.abc import Callable, Mapping
from inspect import signature
from math import isfinite
from pathlib import Path
from typing import Any

from torpor.workloads.arrivals import BURSTY, POISSON, SESSIONS, TIMER, Gaps
from torpor.workloads.reading.files import READERS, read
from torpor.workloads.reading.ledger import LedgerFile
from torpor.workloads.rhythm import DAILY, EVEN, Rhythm
from torpor.workloads.synthetic import Synthetic, calibrated, zipf
from torpor.workloads.trace import BadTrace, Trace

MADE: Mapping[str, Callable[..., Synthetic]] = {"zipf": zipf, "calibrated": calibrated}
GAPS: Mapping[str, Gaps] = {"poisson": POISSON, "timer": TIMER, "bursty": BURSTY, "sessions": SESSIONS}
RHYTHMS: Mapping[str, Rhythm] = {"even": EVEN, "daily": DAILY}

LINE = re.compile("[A-Za-z]\\w+:(?![/\\\\])")
"""What a made trace begins with, known or not: more letters than a drive of Windows has, and no URL's slashes."""
LEDGER, ONE = ".sqlite", "#"


def _seed(text: str) -> int:
    if (seed := int(text)) < 0:
        raise ValueError(text)
    return seed


def _finite(text: str) -> float:
    if not isfinite(number := float(text)):
        raise ValueError(text)
    return number


def _share(text: str) -> float:
    if not 0 <= (share := float(text)) <= 1:
        raise ValueError(text)
    return share


_KNOBS: Mapping[str, tuple[Callable[[str], Any], str]] = {
    "models": (int, "a number, not {!r}: a whole one"),
    "s": (_finite, "a number, not {!r}"),
    "rate_hz": (_finite, "a number, not {!r}"),
    "duration_s": (_finite, "a number, not {!r}"),
    "seed": (_seed, "a number, not {!r}: a whole one of 0 or more"),
    "constant": (_share, "a number, not {!r}: one from 0 to 1"),
    "gaps": (GAPS.__getitem__, f"one of {', '.join(GAPS)}, not {{!r}}"),
    "rhythm": (RHYTHMS.__getitem__, f"one of {', '.join(RHYTHMS)}, not {{!r}}"),
}
"""How each is read, and what it is, which the value was not."""


def named(trace: str | Path) -> Trace:
    """A made trace, or the file of this name; of a ledger with several variants `ledger.sqlite#endpoint/variant`.
    Raises BadTrace."""
    if isinstance(trace, str) and (trace in MADE or (LINE.match(trace) and not trace.endswith(tuple(READERS)))):
        return made(trace)
    path, of, one = str(trace).rpartition(ONE)
    if of and path.endswith(LEDGER):
        endpoint, _, variant = one.partition("/")
        return LedgerFile.so_far(Path(path), endpoint or None, variant or None)
    return read(trace)


def made(text: str) -> Synthetic:
    """Raises BadTrace for a knob that is unknown or has no such value."""
    law, _, knobs = text.partition(":")
    if law not in MADE:
        raise BadTrace(f"{text!r}: a made trace is one of {', '.join(MADE)}, as zipf:models=500")
    has = signature(MADE[law]).parameters
    turned = dict(_knob(text, knob.strip()) for knob in knobs.split(",") if knob.strip())
    if unknown := [name for name in turned if name not in has]:
        raise BadTrace(f"{text!r}: {law} has no such knob as {unknown[0]}: it has {', '.join(has)}")
    return MADE[law](**turned)


def _knob(text: str, knob: str) -> tuple[str, Any]:
    name, _, value = knob.partition("=")
    if name not in _KNOBS:
        raise BadTrace(f"{text!r}: {name!r} is no knob: choose of {', '.join(_KNOBS)}")
    read, what = _KNOBS[name]
    try:
        return name, read(value)
    except (ValueError, KeyError):
        raise BadTrace(f"{text!r}: {name} is {what.format(value)}") from None
