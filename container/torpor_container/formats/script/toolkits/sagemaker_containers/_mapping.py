"""Mappings as variables and as arguments."""

import json
from collections.abc import Mapping
from typing import Any


def to_env_vars(mapping: Mapping[str, Any]) -> dict[str, str]:
    return {f"SM_{name.upper()}": _value(value) for name, value in mapping.items()}


def to_cmd_args(mapping: Mapping[str, Any]) -> list[str]:
    pairs = ((f"--{name}" if len(name) > 1 else f"-{name}", str(mapping[name])) for name in sorted(mapping))
    return [text for pair in pairs for text in pair]


def _value(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
