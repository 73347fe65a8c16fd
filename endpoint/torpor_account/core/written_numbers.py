"""Reads numbers from text as AWS's services write them. Python also takes underscores, spaces, NaN and the digits of
other scripts."""

import re

NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
"""Integers and decimals."""
WHOLE = re.compile(r"[+-]?\d+", re.ASCII)


def whole_of(text: str) -> int:
    """Raises ValueError."""
    if not WHOLE.fullmatch(text):
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def decimal_of(text: str) -> float:
    """An infinity if no float is as large. Raises ValueError."""
    if not NUMBER.fullmatch(text):
        raise ValueError(f"{text!r} is not a number")
    return float(text)
