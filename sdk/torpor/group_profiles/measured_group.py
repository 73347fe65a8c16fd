"""The record of a measured model, and the text of the group's file with it. It calls nothing."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torpor.errors import TorporError
from torpor_endpoint.core.model_choice.group_file import BadGroupFile, read_group

DIGITS = 6


@dataclass(frozen=True)
class MeasuredModel:
    """What was measured of one model. `accuracy` is None without labels. `latency_ms` is by rows, and `load_ms` by
    where the model was: `disk`, `s3`, `asleep`."""

    model: str
    accuracy: float | None
    latency_ms: Mapping[int, float]
    load_ms: Mapping[str, float]
    size_bytes: int | None


def read_group_file(name: str, text: bytes) -> dict[str, Any]:
    """A group's file as it is. Raises TorporError for one that is no group."""
    try:
        read_group(name, text)
    except BadGroupFile as error:
        raise TorporError(f"the file of group {name} is no group: {error}") from None
    found: dict[str, Any] = json.loads(text)
    return found


def new_group_file(models: Sequence[str]) -> dict[str, Any]:
    return {"models": {model: {} for model in models}}


def measured_file(
    name: str,
    before: Mapping[str, Any],
    found: Sequence[MeasuredModel],
    usd_per_hour: float | None,
    note: Mapping[str, Any],
) -> bytes:
    """The group's file with what was measured. What was not measured stays as it was; a price that a model has of its
    own stays too. Raises TorporError."""
    models = {model: dict(values) for model, values in before["models"].items()}
    for one in found:
        known = {
            "accuracy": None if one.accuracy is None else _rounded(one.accuracy),
            "latency_ms": {str(rows): _rounded(took_ms) for rows, took_ms in sorted(one.latency_ms.items())} or None,
            "load_ms": {tier: _rounded(took_ms) for tier, took_ms in one.load_ms.items()} or None,
            "size_bytes": one.size_bytes,
        }
        models[one.model] |= {field: value for field, value in known.items() if value is not None}
    priced = {} if usd_per_hour is None else {"usd_per_hour": usd_per_hour}
    text = json.dumps({**before, **priced, "models": models, "measured": dict(note)}, indent=2, ensure_ascii=False)
    read_group_file(name, text.encode())
    return f"{text}\n".encode()


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
