"""How often a model is right: reads its answers, and compares them with labels. It calls nothing."""

import json
from collections.abc import Sequence
from enum import StrEnum
from statistics import fmean
from typing import Any

from torpor.errors import TorporError

EVEN = 0.5


class AccuracyMeasure(StrEnum):
    """How accuracy is measured: the share of classes that are right, or R², which is 0 for one that is negative."""

    CLASSES = "classes"
    R2 = "r2"


class AnswersNotUnderstood(TorporError, ValueError):
    """The answers cannot be compared with labels. The message says what they are."""


def read_answers(body: bytes, content_type: str, rows: int) -> list[list[str]]:
    """The values that a model answered for each row: one, or several, such as the scores of classes. Raises
    AnswersNotUnderstood."""
    text = body.decode(errors="replace").strip()
    if content_type.partition(";")[0].strip().lower() == "application/json" or text[:1] in ("[", "{"):
        values = [_flat(one) for one in _listed(text)]
        flat = [value for one in values for value in one]
        lines = values if len(values) == rows else [flat]
    else:
        lines = [[value.strip() for value in line.split(",")] for line in text.splitlines()]
        flat = [value for line in lines for value in line]
    if len(lines) == rows and len({len(line) for line in lines}) == 1:
        return lines
    width, left = divmod(len(flat), rows)
    if not width or left:
        raise AnswersNotUnderstood(f"a model answered {len(flat)} values for {rows} rows: {text[:80]!r}")
    return [flat[at : at + width] for at in range(0, len(flat), width)]


def measure_for(labels: Sequence[str]) -> AccuracyMeasure:
    """The measure for these labels: numbers that are not all whole are no classes."""
    numbers = [_number(label) for label in labels]
    fractions = all(one is not None for one in numbers) and any(one is not None and one % 1 for one in numbers)
    return AccuracyMeasure.R2 if fractions else AccuracyMeasure.CLASSES


def accuracy(labels: Sequence[str], answers: Sequence[Sequence[str]], measure: AccuracyMeasure) -> float:
    """From 0 to 1. Raises AnswersNotUnderstood."""
    if measure is AccuracyMeasure.R2:
        return _r2(labels, answers)
    binary = set(map(_number, labels)) <= {0.0, 1.0} and all(
        len(one) == 1 and (value := _number(one[0])) is not None and 0 <= value <= 1 for one in answers
    )
    return fmean(_is_right(label, answer, binary) for label, answer in zip(labels, answers, strict=True))


def _is_right(label: str, answer: Sequence[str], binary: bool) -> bool:
    """One number between 0 and 1 is a probability where all labels are 0 or 1; several are the scores of classes from 0
    on; one value else is the class."""
    wanted = _number(label)
    if len(answer) > 1:
        scores = [_number(one) for one in answer]
        known = [one for one in scores if one is not None]
        if wanted is None or len(known) < len(scores):
            raise AnswersNotUnderstood(f"a model answered {', '.join(answer)[:80]}: scores are compared with numbers")
        return known.index(max(known)) == wanted
    (only,) = answer
    found = _number(only)
    if wanted is None or found is None:
        return only.strip("\"'") == label
    return (found >= EVEN) == bool(wanted) if binary else round(found) == wanted


def _r2(labels: Sequence[str], answers: Sequence[Sequence[str]]) -> float:
    wanted, found = [_number(one) for one in labels], [_number(one[0]) if len(one) == 1 else None for one in answers]
    pairs = [(one, other) for one, other in zip(wanted, found, strict=True) if one is not None and other is not None]
    if len(pairs) < len(wanted):
        raise AnswersNotUnderstood("R² needs a number for each label, and one in each answer")
    mean = fmean(one for one, _ in pairs)
    spread = sum((one - mean) ** 2 for one, _ in pairs)
    if not spread:
        raise AnswersNotUnderstood("R² needs labels that differ")
    return max(0.0, 1 - sum((one - other) ** 2 for one, other in pairs) / spread)


def _listed(text: str) -> list[Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise AnswersNotUnderstood(f"a model answered no JSON: {text[:80]!r}") from error
    if isinstance(found, dict):
        found = next((one for one in found.values() if isinstance(one, list)), None)
    if not isinstance(found, list):
        raise AnswersNotUnderstood(f"a model answered no list of predictions: {text[:80]!r}")
    return found


def _flat(value: Any) -> list[str]:
    if isinstance(value, dict):
        value = list(value.values())
    return [text for one in value for text in _flat(one)] if isinstance(value, list) else [str(value)]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
