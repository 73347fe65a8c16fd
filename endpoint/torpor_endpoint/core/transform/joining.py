"""What DataProcessing does with the records of one payload: filters them, joins their answers to them, filters again.

`InputFilter`, then the model, then the join, then `OutputFilter`. A record of CSV is a row; joined to it are the
columns of its answer. To a record of JSON that is an object, its answer is joined as the member `SageMakerOutput`;
any other one becomes `{"SageMakerInput": …, "SageMakerOutput": …}`.
"""

import csv
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any

from torpor_endpoint.core.transform.filters import Filter, NothingKept

INPUT, OUTPUT = "SageMakerInput", "SageMakerOutput"


class NotJoined(Exception):
    """The records of a payload and their answers do not fit together. The text tells a person why."""


@dataclass(frozen=True)
class RecordFormat:
    """How the records of a content type are read and written."""

    read: Callable[[bytes], list[Any]]
    write: Callable[[Iterable[Any]], bytes]
    join: Callable[[Any, Any], Any]


@dataclass(frozen=True)
class DataProcessing:
    """What a job does with records beside the model. `input` and `output` keep everything where there is no filter."""

    format: RecordFormat
    input: Filter
    output: Filter
    joined: bool

    @property
    def does_nothing(self) -> bool:
        return self.input.keeps_all and self.output.keeps_all and not self.joined

    def sent(self, payload: bytes) -> bytes:
        """The body of the request for a payload. Raises NotJoined."""
        if self.input.keeps_all:
            return payload
        return self.format.write(_kept(self.input, "InputFilter", _read(self.format, payload, "input")))

    def written(self, payload: bytes, answer: bytes) -> bytes:
        """What becomes of the answer to a payload. Raises NotJoined."""
        if self.output.keeps_all and not self.joined:
            return answer
        answers = _read(self.format, answer, "answer")
        if self.joined:
            records = _read(self.format, payload, "input")
            if len(records) != len(answers):
                raise NotJoined(f"the model was sent {len(records)} records, and answered {len(answers)}")
            answers = [self.format.join(record, one) for record, one in zip(records, answers, strict=True)]
        return self.format.write(_kept(self.output, "OutputFilter", answers))


def _kept(filter: Filter, name: str, records: Sequence[Any]) -> list[Any]:
    try:
        return [filter.kept(record) for record in records]
    except NothingKept as error:
        raise NotJoined(f"{name} {filter.text}: {error}") from None


def _read(format: RecordFormat, body: bytes, what: str) -> list[Any]:
    try:
        return format.read(body)
    except ValueError as error:
        raise NotJoined(f"the {what} cannot be read: {error}") from None


# -- formats -----------------------------------------------------------------------------------------------------------
def _rows(body: bytes) -> list[list[str]]:
    return [row for row in csv.reader(StringIO(body.decode(), newline="")) if row]


def _row_lines(rows: Iterable[Any]) -> bytes:
    written = StringIO(newline="")
    writer = csv.writer(written, lineterminator="\n")
    writer.writerows(row if isinstance(row, list) else [row] for row in rows)
    return written.getvalue().encode()


def _json_lines(body: bytes) -> list[Any]:
    return [json.loads(line) for line in body.splitlines() if line.strip()]


def _to_json_lines(records: Iterable[Any]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def _json_document(body: bytes) -> list[Any]:
    return [json.loads(body)]


def _to_json_document(records: Iterable[Any]) -> bytes:
    (record,) = records
    return json.dumps(record).encode()


def _json_joined(record: Any, answer: Any) -> Any:
    if isinstance(record, dict):
        return {**record, OUTPUT: answer}
    return {INPUT: record, OUTPUT: answer}


ROWS = RecordFormat(_rows, _row_lines, lambda record, answer: [*record, *answer])
JSON_LINES = RecordFormat(_json_lines, _to_json_lines, _json_joined)
JSON_DOCUMENT = RecordFormat(_json_document, _to_json_document, _json_joined)
