"""What DataProcessing does with the records of one payload: filters them, joins their answers to them, filters again.

`InputFilter`, then the model, then the join, then `OutputFilter`.
"""

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice, zip_longest
from typing import Any, NamedTuple

from torpor_container.core.target_names import is_target
from torpor_container.frozen_class import frozen
from torpor_endpoint.core.transform.filters import Filter, NothingKept
from torpor_endpoint.core.transform.record_formats import RecordFormat

Stamp = Callable[[], tuple[str, str]]
"""Gives the id and the time of one more record of a result."""
NONE_LEFT = object()


class NotJoined(Exception):
    """The records of a payload and their answers do not fit together. The text tells a person why."""


class ModelPart(NamedTuple):
    """The request with those records of a payload that are for one model. `places` are theirs in the payload."""

    model: str
    places: list[int]
    body: bytes


@frozen
class DataProcessing:
    """What a job does with records beside the model. `input` and `output` keep everything where there is no filter.

    `model` finds the name of a record's model, if each record names its own. `stamp` marks each record of the result.
    `in_one_line`: the container may answer the rows of a request as the columns of one, as AWS's XGBoost container does
    for a model of many.
    """

    format: RecordFormat
    input: Filter
    output: Filter
    joined: bool
    model: Filter | None = None
    stamp: Stamp | None = None
    in_one_line: bool = False

    @property
    def does_nothing(self) -> bool:
        return self.input.keeps_all and self._leaves_answers and self.model is None

    @property
    def _leaves_answers(self) -> bool:
        return self.output.keeps_all and not self.joined and self.stamp is None and not self.in_one_line

    def sent(self, payload: bytes) -> bytes:
        """The body of the request for a payload. Raises NotJoined."""
        if self.input.keeps_all:
            return payload
        return self._body(_read(self.format, payload, "input"))

    def written(self, payload: bytes, answer: bytes) -> bytes:
        """What becomes of the answer to a payload. Raises NotJoined."""
        if self._leaves_answers:
            return answer
        only_joined = self.joined and self.output.keeps_all and self.stamp is None and not self.in_one_line
        if only_joined and (whole := _whole(self.format, payload, answer)) is not None:
            return whole
        answers = _read(self.format, answer, "answer")
        if self.in_one_line:
            answers = _spread(answers, sum(1 for _ in _read(self.format, payload, "input")))
        return self._finished(payload, answers)

    def by_model(self, payload: bytes) -> list[ModelPart]:
        """The requests for a payload whose records name their models, a request for each. Raises NotJoined."""
        assert self.model is not None
        records, places = list(_read(self.format, payload, "input")), dict[str, list[int]]()
        for place, name in enumerate(_kept(self.model, "the filter of models", records)):
            if not isinstance(name, str) or not is_target(name):
                raise NotJoined(f"record {place + 1} names no model: {self.model.text} is {name!r}")
            places.setdefault(name, []).append(place)
        return [ModelPart(name, found, self._body(records[place] for place in found)) for name, found in places.items()]

    def written_together(self, payload: bytes, parts: Sequence[ModelPart], answers: Sequence[bytes]) -> bytes:
        """What becomes of the answers to `by_model`, in the order of the records. Raises NotJoined."""
        placed: dict[int, Any] = {}
        for part, answer in zip(parts, answers, strict=True):
            read = _read(self.format, answer, f"answer of {part.model}")
            if self.in_one_line:
                read = _spread(read, len(part.places))
            placed.update(_pairs(part.places, read, f"the model {part.model}"))
        return self._finished(payload, (placed[place] for place in sorted(placed)))

    def _body(self, records: Iterable[Any]) -> bytes:
        return self.format.write(_kept(self.input, "InputFilter", records))

    def _finished(self, payload: bytes, answers: Iterable[Any]) -> bytes:
        """Joins, filters and stamps."""
        if self.joined:
            pairs = _pairs(_read(self.format, payload, "input"), answers, "the model")
            answers = (self.format.join(record, answer) for record, answer in pairs)
        kept = _kept(self.output, "OutputFilter", answers)
        if (stamp := self.stamp) is not None:
            kept = (self.format.stamped(record, *stamp()) for record in kept)
        return self.format.write(kept)


def _spread(answers: Iterator[Any], count: int) -> Iterator[Any]:
    """The answers to so many rows, of which one line may have all."""
    first = list(islice(answers, 2))
    if len(first) == 1 and isinstance(first[0], list) and len(first[0]) == count:
        return ([column] for column in first[0])
    return chain(first, answers)


def _pairs(records: Iterable[Any], answers: Iterable[Any], model: str) -> Iterator[tuple[Any, Any]]:
    """Raises NotJoined where there are more of one kind."""
    pairs = zip_longest(records, answers, fillvalue=NONE_LEFT)
    for place, (record, answer) in enumerate(pairs):
        if record is NONE_LEFT or answer is NONE_LEFT:
            more = place + 1 + sum(1 for _ in pairs)
            sent, answered = (place, more) if record is NONE_LEFT else (more, place)
            raise NotJoined(f"{model} was sent {sent} records, and answered {answered}")
        yield record, answer


def _whole(format: RecordFormat, payload: bytes, answer: bytes) -> bytes | None:
    try:
        return format.join_lines(payload, answer)
    except UnicodeDecodeError:  # to read the records says in which body
        return None


def _kept(filter: Filter, name: str, records: Iterable[Any]) -> Iterable[Any]:
    return records if filter.keeps_all else _parts(filter, name, records)


def _parts(filter: Filter, name: str, records: Iterable[Any]) -> Iterator[Any]:
    try:
        for record in records:
            yield filter.kept(record)
    except NothingKept as error:
        raise NotJoined(f"{name} {filter.text}: {error}") from None


def _read(format: RecordFormat, body: bytes, what: str) -> Iterator[Any]:
    try:
        yield from format.read(body)
    except (ValueError, csv.Error, RecursionError) as error:
        raise NotJoined(f"the {what} cannot be read: {error}") from None
