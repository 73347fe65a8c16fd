"""Values on the command line: spans of time such as `90s`, `30m`, `1h` and `7d`, and files that exist."""

import re
import time
from pathlib import Path

import typer

from torpor.errors import TorporError
from torpor.time_units import DAY_S, HOUR_S, MINUTE_S

UNITS_S = {"s": 1.0, "m": MINUTE_S, "h": HOUR_S, "d": DAY_S}
SPAN = re.compile(r"(\d+(?:\.\d+)?)([smhd])")


def span_s(text: str, option: str | None = None) -> float:
    """The span in seconds. Raises BadParameter, which names `option`."""
    found = SPAN.fullmatch(text)
    if found is None:
        raise typer.BadParameter(f"{text!r} is not a span of time, such as 90s, 30m, 1h or 7d", param_hint=option)
    return float(found[1]) * UNITS_S[found[2]]


def ago_s(text: str) -> float:
    """The epoch seconds of the moment that `--since` names: this span before now. Raises BadParameter."""
    return max(0.0, time.time() - span_s(text, "--since"))


def existing_file(option: str, file: Path) -> None:
    """Raises TorporError if the file does not exist, or is a folder."""
    if not file.exists():
        raise TorporError(f"{option} {file}: there is no such file")
    if file.is_dir():
        raise TorporError(f"{option} {file}: that is a folder, name a file")
