"""Reads the categories that an XGBoost model has learned from a data frame, from the model's own bytes.

XGBoost keeps them from version 3.1 on. An older model, and one that was trained on codes, takes codes.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from torpor_container.content.reading.categories import Categories
from torpor_container.formats.xgboost import ubjson

CATEGORICAL = "c"
"""The type of a column of categories, in a booster's `feature_types`."""
TYPES, LEARNER = b"feature_types[#L", b"gradient_booster"
CATEGORIES = b"L" + (4).to_bytes(8, "big") + b"cats{"


def may_be_in(content: bytes | bytearray) -> bool:
    """Whether a model in UBJSON has columns of categories, by its first bytes: its columns come before its trees."""
    start = content.find(TYPES)
    end = content.find(LEARNER, start)
    return start < 0 or content.find(b"\x00\x01" + CATEGORICAL.encode(), start, end) >= 0


def of(booster: Any) -> Categories | None:
    """The categories by column; None if the model takes numbers or codes alone."""
    types = list(booster.feature_types or ())
    if CATEGORICAL not in types:
        return None
    saved = bytes(booster.save_raw("ubj"))
    at = saved.find(CATEGORIES, saved.find(LEARNER))
    if at < 0:
        return None
    stored, _ = ubjson.read(saved, at + len(CATEGORIES) - 1)
    values = dict(enumerate(map(_values, stored["enc"])))
    learned = {place: values[place] for place, kind in enumerate(types) if kind == CATEGORICAL and values.get(place)}
    if len(learned) < types.count(CATEGORICAL):
        return None
    names = booster.feature_names
    return Categories(int(booster.num_features()), learned, names and tuple(names))


def _values(encoded: dict[str, Any]) -> Sequence[Any]:
    """The categories in the order of their codes: numbers, or texts that stand one after the other."""
    if "offsets" not in encoded:
        return list(np.asarray(encoded["values"]).tolist())
    joined, ends = np.asarray(encoded["values"]).astype(np.int8).tobytes(), encoded["offsets"]
    return [joined[start:end].decode() for start, end in pairwise(ends)]
