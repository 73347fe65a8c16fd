"""A model as an instance loads it from an artifact's folder, and its answer as JSON."""

import json
from pathlib import Path
from typing import Any

from torpor_container.formats import Conventions, ServableModel, detect
from torpor_container.invocation import Invocation

CONVENTIONS = Conventions()
ROW = b"1,2,3,4"


def load(directory: Path, conventions: Conventions = CONVENTIONS) -> ServableModel:
    known, path = detect(directory)
    return known.load(path, conventions)


def answer(model: ServableModel, body: bytes = ROW, content_type: str = "text/csv") -> Any:
    return json.loads(model.invoke(Invocation(body, content_type, "application/json")).body)


def backwards(frame: Any) -> list[bytes]:
    """JSON with the frame's columns in the opposite order, by name."""
    other = frame[frame.columns[::-1]]
    return [
        json.dumps({"columns": other.to_dict("list")}).encode(),
        json.dumps({"columns": list(other.columns), "data": other.to_numpy().tolist()}).encode(),
    ]
