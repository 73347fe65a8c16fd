"""Reads the file of a group below a prefix: "digits.group.json" is the group "digits".

    {
      "usd_per_hour": 0.115,
      "models": {
        "small.tar.gz": {
          "accuracy": 0.91,
          "latency_ms": {"1": 1.2, "32": 4.5},
          "load_ms": {"disk": 30, "s3": 80, "asleep": 900},
          "size_bytes": 20480
        },
        "large.tar.gz": {}
      }
    }

A model is named as a request would name it. Every field of a model may be absent: a need for what nobody measured is
then not met. What the file holds beside these fields is refused by its name, but for `measured`, a note for people.
"""

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any, Final, NoReturn

from torpor_container.core.target_names import is_target, without_slash
from torpor_endpoint.core.model_choice.model_group import ChoiceGroup, GroupedModel, ModelTier

SUFFIX: Final = ".group.json"
FILE_MAX_BYTES: Final = 1 << 20
MODELS_MAX: Final = 256
POINTS_MAX: Final = 64
LOADED_FROM: Final = (ModelTier.DISK, ModelTier.S3, ModelTier.ASLEEP)
OF_FILE: Final = ("models", "usd_per_hour", "measured")
OF_MODEL: Final = ("accuracy", "latency_ms", "load_ms", "size_bytes", "usd_per_hour")


class BadGroupFile(ValueError):
    """The text is no group. The message names the field, and says what it must be."""


def group_name(key: str) -> str | None:
    """The name of the group whose file has this key below the prefix, as callers name it; None for any other object."""
    name = without_slash(key.removesuffix(SUFFIX))
    return name if key.endswith(SUFFIX) and name.rpartition("/")[2] else None


def read_group(name: str, text: bytes) -> ChoiceGroup:
    """The group of a file's text. Raises BadGroupFile."""
    if len(text) > FILE_MAX_BYTES:
        raise BadGroupFile(f"it has {len(text)} bytes: at most {FILE_MAX_BYTES} are read")
    try:
        values = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        if isinstance(error, BadGroupFile):
            raise
        raise BadGroupFile(f"it is no JSON: {error}") from None
    found = _object(values, "the file")
    _check_known(found, OF_FILE, "")
    price = _number(found, "usd_per_hour", "", least=0.0)
    models = _object(found.get("models"), "models")
    if not 1 <= len(models) <= MODELS_MAX:
        raise BadGroupFile(f"models has {len(models)} models: it must have 1 to {MODELS_MAX}")
    read = tuple(_model(target, one, price) for target, one in models.items())
    if len({one.model for one in read}) < len(read):
        raise BadGroupFile("models names a model twice, with and without a leading slash")
    unpriced = [one.model for one in read if one.usd_per_hour is None]
    if unpriced and len(unpriced) < len(read):
        raise BadGroupFile(
            f"models[{unpriced[0]!r}] has no usd_per_hour, and others have one: give it to all or to none"
        )
    return ChoiceGroup(name, read)


def _model(target: str, values: object, price: float | None) -> GroupedModel:
    where = f"models[{target!r}]"
    if not is_target(target):
        raise BadGroupFile(f"{where} names no model: name an object below the prefix")
    found = _object(values, where)
    _check_known(found, OF_MODEL, f"{where}.")
    size = found.get("size_bytes")
    if size is not None and (type(size) is not int or size < 0):
        raise BadGroupFile(f"{where}.size_bytes is {size!r}: it must be a whole number of bytes")
    own_price = _number(found, "usd_per_hour", f"{where}.", least=0.0)
    return GroupedModel(
        without_slash(target),
        _number(found, "accuracy", f"{where}.", least=0.0, most=1.0),
        _points(found.get("latency_ms"), f"{where}.latency_ms"),
        _loads(found.get("load_ms"), f"{where}.load_ms"),
        size,
        price if own_price is None else own_price,
    )


def _points(values: object, where: str) -> tuple[tuple[int, float], ...]:
    if values is None:
        return ()
    found = _object(values, where)
    if len(found) > POINTS_MAX:
        raise BadGroupFile(f"{where} has {len(found)} numbers of rows: at most {POINTS_MAX}")
    points = []
    for rows in found:
        if not (rows.isascii() and rows.isdigit() and len(rows) <= 9 and rows[0] != "0"):
            raise BadGroupFile(f"{where} has the key {rows!r}: a key must be a number of rows, such as 32")
        took_ms = _number(found, rows, f"{where}.", least=0.0)
        assert took_ms is not None, "the key is there"
        points.append((int(rows), took_ms))
    return tuple(sorted(points))


def _loads(values: object, where: str) -> dict[ModelTier, float]:
    if values is None:
        return {}
    found = _object(values, where)
    _check_known(found, tuple(tier.value for tier in LOADED_FROM), f"{where}.")
    loads = {tier: _number(found, tier.value, f"{where}.", least=0.0) for tier in LOADED_FROM}
    return {tier: took_ms for tier, took_ms in loads.items() if took_ms is not None}


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise BadGroupFile(f"{twice!r} is there twice: keep one of them")
    return found


def _object(values: object, where: str) -> Mapping[str, Any]:
    if not isinstance(values, dict):
        raise BadGroupFile(f"{where} must be a JSON object")
    return values


def _check_known(found: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for name in found:
        if name not in known:
            raise BadGroupFile(f"{where}{name} is not known: {', '.join(known)} are")


def _number(
    found: Mapping[str, Any], name: str, where: str, *, least: float, most: float | None = None
) -> float | None:
    value = found.get(name)
    if value is None:
        if name in found:
            _refused(where, name, value, least, most)
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e15 or not isfinite(value):
        _refused(where, name, value, least, most)
    if value < least or (most is not None and value > most):
        _refused(where, name, value, least, most)
    return float(value)


def _refused(where: str, name: str, value: object, least: float, most: float | None) -> NoReturn:
    rule = f"at least {least:g}" if most is None else f"from {least:g} to {most:g}"
    raise BadGroupFile(f"{where}{name} is {value!r}: it must be a number, {rule}")
