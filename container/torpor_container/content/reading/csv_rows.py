"""Reads `text/csv`: no header, one row a line, an empty cell or `nan` is a missing value.

A model of whole numbers gets each digit, and one of text its cells as they are, by RFC 4180. With the parameter
`header=present` (RFC 4180, section 3) the first line names the columns.
"""

import csv
import io
from collections.abc import Iterator

import numpy as np

from torpor_container.content.faulty_cells import refusal
from torpor_container.content.kinds import TEXT, CellKind
from torpor_container.content.layout import RowLayout, Rows
from torpor_container.content.media import charset_of, parameters
from torpor_container.errors import BadInput

DELIMITERS = b",;\t| "
"""Delimiters in order of preference. SageMaker's XGBoost container guesses the delimiter too."""
BETWEEN_NAMES = b",;\t|"
"""Delimiters of a header: without the space, since names may have spaces."""
MARK = b"\xef\xbb\xbf"
"""The byte order mark with which Excel begins UTF-8."""
HEADER_HINT = (
    "row 1 looks like a header: send the content type 'text/csv; header=present' with it, which matches its names to "
    "the model's, or leave it out"
)
UNLABELLED = "0"
"""The `label_size` of rows to predict. For SageMaker's own algorithms it is the number of columns with labels."""
GZIP = b"\x1f\x8b"
MANY_BYTES = 64 * 1024
"""Larger bodies are read in pieces of this many bytes. numpy's reader has a fixed cost, too high for a few rows."""


def as_utf8(body: bytes, content_type: str) -> bytes:
    """The body in UTF-8, which each reader reads. Raises BadInput for text that is not in the charset of its type, and
    for a compressed body, which would be read as rubbish: Content-Encoding does not reach models."""
    if body.startswith(GZIP):
        raise BadInput("the body is compressed by gzip: send it as it is")
    charset = charset_of(content_type)
    try:
        return body if charset is None else body.decode(charset).encode()
    except (LookupError, UnicodeError) as error:
        raise BadInput(f"the body is not text in {charset}, the charset of its content type: {error}") from None


def decode_csv(body: bytes, layout: RowLayout) -> Rows:
    """Read rows. Raises BadInput, which names the row and column at fault, both counted from 1."""
    read = _numbers if len(body) <= MANY_BYTES else _many
    try:
        return read(body, layout)
    except (ValueError, BadInput):
        return _cells(body.strip(b"\r\n"), layout)


def decode_csv_with_header(body: bytes, layout: RowLayout) -> Rows:
    """Read rows below a header. Raises BadInput, which counts rows without the header, or lists wrong names."""
    names, rest, _ = split_header(body)
    return layout.ordered(decode_csv(rest, layout), names)


def csv_has_header(content_type: str) -> bool:
    """Whether CSV has a header, by the parameter `header` (RFC 4180, section 3). Raises BadInput."""
    given = parameters(content_type)
    header = given.get("header", "absent").lower()
    if header not in ("present", "absent"):
        raise BadInput(f"header={header} in the content type {content_type!r}: it must be present or absent")
    if given.get("label_size", UNLABELLED) != UNLABELLED:
        raise BadInput(
            f"label_size={given['label_size']} in the content type {content_type!r}: send rows without labels"
        )
    return header == "present"


def split_header(body: bytes) -> tuple[list[str], bytes, str]:
    """The columns' names, the rows below them, and the delimiter. Raises BadInput."""
    lines = body.removeprefix(MARK).lstrip(b"\r\n").splitlines(keepends=True) or [b""]
    delimiter = _between_names(lines[0])
    try:
        reader = csv.reader(map(bytes.decode, lines), delimiter=delimiter, strict=True)
        names = next(reader)
    except (UnicodeDecodeError, csv.Error, StopIteration) as error:
        raise BadInput(f"the header is not CSV in UTF-8: {error}") from None
    rest = b"".join(lines[reader.line_num :])
    if not rest.strip(b"\r\n"):
        raise BadInput("there is no row below the header")
    return [name.strip() for name in names], rest, delimiter


def _between_names(line: bytes) -> str:
    return next((chr(byte) for byte in BETWEEN_NAMES if byte in line.strip()), ",")


def _numbers(body: bytes, layout: RowLayout) -> Rows:
    """The fast path, for plain numbers only. Raises ValueError for anything else."""
    text = body.strip(b"\r\n")
    if b"_" in text:
        raise ValueError("Python reads 1_000 as a number, CSV does not")
    if b"\n" not in text:
        return layout.of_floats(list(map(float, text.split(b",")))).reshape(1, -1)
    lines = text.split(b"\n")
    commas = lines[0].count(b",")
    if any(line.count(b",") != commas for line in lines):
        raise ValueError("ragged rows")
    flat = list(map(float, b",".join(lines).split(b",")))
    return layout.of_floats(flat).reshape(len(lines), commas + 1)


def _many(body: bytes, layout: RowLayout) -> Rows:
    """Read a large body, piece by piece, into one array: as text and as cells it would take many times its size.

    ValueError or BadInput for whatever is not right. Only the reader of the whole body knows what to say of it.
    """
    if layout.kind is TEXT:
        raise ValueError("a line's end may be within a cell")
    start, end = _ends(body)
    count = body.count(b"\n", start, end) + 1
    commas, left = divmod(body.count(b",", start, end), count)
    if left or _delimiter(next(_pieces(body, start, end)).partition(b"\n")[0]) != b",":
        raise ValueError("ragged rows, or another delimiter")
    rows = np.empty((count, commas + 1), layout.dtype)
    done = 0
    for piece in _pieces(body, start, end):
        read = _piece(piece, layout)
        if read.shape != (piece.count(b"\n") + 1, commas + 1):
            raise ValueError("ragged rows")
        rows[done : done + len(read)] = read
        done += len(read)
    return rows


def _ends(body: bytes) -> tuple[int, int]:
    """Where the first row begins, and where the last one ends."""
    start, end = 0, len(body)
    while start < end and body[start] in b"\r\n":
        start += 1
    while start < end and body[end - 1] in b"\r\n":
        end -= 1
    return start, end


def _pieces(body: bytes, start: int, end: int) -> Iterator[bytes]:
    """Whole rows, without the last one's end."""
    while start <= end:
        stop = body.find(b"\n", start + MANY_BYTES, end)
        stop = end if stop < 0 else stop
        yield body[start:stop]
        start = stop + 1


def _piece(text: bytes, layout: RowLayout) -> Rows:
    try:
        return layout.of_floats(_loaded(text))
    except ValueError:
        return layout.array(_rows(text.split(b"\n"), b",", layout.kind))


def _loaded(text: bytes) -> Rows:
    """Read plain numbers by numpy, in half the time. Raises ValueError for anything else."""
    if text[:1] in b"\r\n" or b"\n\n" in text or b"\n\r" in text or text[-1:] == b"\n":
        raise ValueError("numpy skips empty lines, which here are rows of one empty cell")
    return np.loadtxt(text.decode("latin-1").split("\n"), delimiter=",", comments=None, ndmin=2)


def _cells(text: bytes, layout: RowLayout) -> Rows:
    """The careful path: empty cells, quotes, other delimiters, and the error that names the cell."""
    if layout.kind is TEXT:
        rows = _texts(text)
    else:
        lines = text.removeprefix(MARK).split(b"\n")
        rows = _rows(lines, _delimiter(lines[0]), layout.kind)
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise BadInput(f"row {number} has {len(row)} columns, and row 1 has {len(rows[0])}")
    try:
        return layout.array(rows)
    except (ValueError, OverflowError) as error:
        raise refusal(error, rows, layout) from error


def _texts(text: bytes) -> list[list[object]]:
    """Cells between commas alone, since text may contain any other delimiter."""
    try:
        return [[*row] or [""] for row in csv.reader(io.StringIO(text.decode(), newline=""), strict=True)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"the body is not CSV in UTF-8: {error}") from None


def _delimiter(line: bytes) -> bytes:
    """The delimiter of the first row."""
    return next((bytes([byte]) for byte in DELIMITERS if byte in line.strip()), b",")


def _rows(lines: list[bytes], delimiter: bytes, kind: CellKind) -> list[list[object]]:
    try:
        return [_row(number, line, delimiter, kind) for number, line in enumerate(lines, start=1)]
    except BadInput as error:
        if looks_like_header(lines[0].split(delimiter)):
            raise BadInput(f"{error}; {HEADER_HINT}") from None
        raise


def looks_like_header(cells: list[bytes]) -> bool:
    """Whether each cell is a word: neither empty nor a number."""
    return all(cell.strip().strip(b'"').strip() and not _is_number(cell.strip().strip(b'"')) for cell in cells)


def _is_number(text: bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _unquoted(cell: bytes) -> bytes:
    """What is between the two quotes of a cell. Raises ValueError for others: a delimiter between them would make two
    numbers of one, as of "0,4"."""
    if len(cell) < 2 or cell.count(b'"') != 2 or not cell.startswith(b'"') or not cell.endswith(b'"'):
        raise ValueError
    return cell[1:-1].strip()


def _row(number: int, line: bytes, delimiter: bytes, kind: CellKind) -> list[object]:
    return [_cell(number, column, cell, kind) for column, cell in enumerate(line.split(delimiter), start=1)]


def _cell(row: int, column: int, cell: bytes, kind: CellKind) -> object:
    text = cell.strip()
    try:
        if b'"' in text:
            text = _unquoted(text)
        if not text:
            return kind.empty
        return kind.read(text)
    except ValueError:
        shown = kind.wrong.format(repr(text[:40].decode("utf-8", "replace")))
        raise BadInput(f"row {row}, column {column}: {shown}") from None
