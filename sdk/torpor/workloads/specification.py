"""Traces by a line of text: a synthetic one, as `zipf:models=500,rate_hz=20,duration_s=3600`, or a file's name."""

import re
from collections.abc import Callable, Mapping
from inspect import signature
from math import isfinite
from pathlib import Path
from typing import Any

from torpor.workloads.arrivals import BURSTY, POISSON, SESSIONS, TIMER, Gaps
from torpor.workloads.rhythm import DAILY, EVEN, Rhythm
from torpor.workloads.synthetic import Synthetic, calibrated, zipf
from torpor.workloads.trace import BadTrace, Trace
from torpor.workloads.trace_formats.ledger_trace import LedgerFile
from torpor.workloads.trace_formats.trace_files import READERS, read

MADE: Mapping[str, Callable[..., Synthetic]] = {"zipf": zipf, "calibrated": calibrated}
GAPS: Mapping[str, Gaps] = {"poisson": POISSON, "timer": TIMER, "bursty": BURSTY, "sessions": SESSIONS}
RHYTHMS: Mapping[str, Rhythm] = {"even": EVEN, "daily": DAILY}

LINE = re.compile("[A-Za-z]\\w+:(?![/\\\\])")
"""The beginning of a synthetic trace's line: longer than a drive letter of Windows, and without a URL's slashes."""
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


_PARAMETERS: Mapping[str, tuple[Callable[[str], Any], str]] = {
    "models": (int, "a number, not {!r}: a whole one"),
    "s": (_finite, "a number, not {!r}"),
    "rate_hz": (_finite, "a number, not {!r}"),
    "duration_s": (_finite, "a number, not {!r}"),
    "seed": (_seed, "a number, not {!r}: a whole one of 0 or more"),
    "constant": (_share, "a number, not {!r}: one from 0 to 1"),
    "gaps": (GAPS.__getitem__, f"one of {', '.join(GAPS)}, not {{!r}}"),
    "rhythm": (RHYTHMS.__getitem__, f"one of {', '.join(RHYTHMS)}, not {{!r}}"),
}
"""For each parameter its parser, and the words for a wrong value."""


def named(trace: str | Path) -> Trace:
    """The synthetic trace of this line, or the trace in the file of this name. For a ledger with several variants, the
    name is `ledger.sqlite#endpoint/variant`. Raises BadTrace."""
    if isinstance(trace, str) and (trace in MADE or (LINE.match(trace) and not trace.endswith(tuple(READERS)))):
        return made(trace)
    path, of, one = str(trace).rpartition(ONE)
    if of and path.endswith(LEDGER):
        endpoint, _, variant = one.partition("/")
        return LedgerFile.so_far(Path(path), endpoint or None, variant or None)
    return read(trace)


def made(text: str) -> Synthetic:
    """The synthetic trace of this line. Raises BadTrace for an unknown parameter, or a value that it cannot have."""
    law, _, parameters = text.partition(":")
    if law not in MADE:
        raise BadTrace(f"{text!r}: a synthetic trace is one of {', '.join(MADE)}, as zipf:models=500")
    has = signature(MADE[law]).parameters
    values = dict(_parameter(text, part.strip()) for part in parameters.split(",") if part.strip())
    if unknown := [name for name in values if name not in has]:
        raise BadTrace(f"{text!r}: {law} has no parameter {unknown[0]}: it has {', '.join(has)}")
    return MADE[law](**values)


def _parameter(text: str, part: str) -> tuple[str, Any]:
    name, _, value = part.partition("=")
    if name not in _PARAMETERS:
        raise BadTrace(f"{text!r}: {name!r} is not a parameter: choose from {', '.join(_PARAMETERS)}")
    read, what = _PARAMETERS[name]
    try:
        return name, read(value)
    except (ValueError, KeyError):
        raise BadTrace(f"{text!r}: {name} is {what.format(value)}") from None
