"""How far to look back, as a person says it: `90s`, `30m`, `1h`, `7d`."""

import re
import time

import typer

from torpor.spans import DAY_S, HOUR_S, MINUTE_S

UNITS_S = {"s": 1.0, "m": MINUTE_S, "h": HOUR_S, "d": DAY_S}
SPAN = re.compile(r"(\d+(?:\.\d+)?)([smhd])")


def span_s(text: str, option: str | None = None) -> float:
    """Seconds. Raises BadParameter, of this option."""
    found = SPAN.fullmatch(text)
    if found is None:
        raise typer.BadParameter(f"{text!r} is no span of time, such as 90s, 30m, 1h or 7d", param_hint=option)
    return float(found[1]) * UNITS_S[found[2]]


def ago_s(text: str) -> float:
    """The epoch seconds of then."""
    return max(0.0, time.time() - span_s(text, "--since"))
