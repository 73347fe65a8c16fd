"""Page tokens that no answer ever held; each kind makes some decoder fail."""

import base64
import json


def encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode()


HOSTILE = (
    "x",
    "bm8=",
    "é",
    "\ud800",
    encoded("[" * 5000),
    encoded("[" * 100_000),
    encoded("9" * 5000),
    encoded(f'["from", {"9" * 5000}]'),
    encoded('["from", -1]'),
    encoded('["from", 1e400]'),
    encoded(json.dumps(["from", 1 << 80])),
    encoded('["from"]'),
    encoded("{}"),
    encoded("null"),
)
