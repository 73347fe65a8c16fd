"""What a file has in it, by its first bytes: names of files tell what was meant, and not what is there."""

import gzip
import zlib
from codecs import getincrementaldecoder
from pathlib import Path

from torpor.workloads.trace import BadTrace

LOOKED_AT_BYTES = 4096
SQLITE = "a SQLite database"
MARKS = (
    (b"SQLite format 3\x00", SQLITE),
    (b"PAR1", "a Parquet file"),
    (b"\x1f\x8b", "compressed by gzip: name it .csv.gz, or unpack it"),
    (b"PK\x03\x04", "a zip file: unpack it"),
    (b"\x93NUMPY", "an array of numpy"),
    (b"ARROW1", "an Arrow file"),
    (b"\x80", "a pickle, or other binary data"),
)
TEXT = ""


def kind(path: Path) -> str:
    """In words, to follow "is"; TEXT for what may be CSV. Of `.gz`, what it has packed. Raises BadTrace for what cannot
    be read."""
    if path.is_dir():
        within = f": name {path.name}/ledger.sqlite" if (path / "ledger.sqlite").is_file() else ""
        return f"a folder{within}"
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            first = file.read(LOOKED_AT_BYTES)
    except (OSError, EOFError, zlib.error) as error:
        raise BadTrace(f"{path}: {error}") from error
    if not first:
        return "empty"
    known = next((told for mark, told in MARKS if first.startswith(mark)), TEXT)
    return known or _no_text(first)


def _no_text(first: bytes) -> str:
    """A letter may be cut off at the end."""
    if b"\x00" in first:
        return "no text"
    try:
        getincrementaldecoder("utf-8")().decode(first)
    except UnicodeDecodeError as error:
        return f"no text in UTF-8: {error}"
    return TEXT


def csv_or_refused(path: Path, accepted: str) -> None:
    """`accepted`: what is taken there. Raises BadTrace for what is no text."""
    if found := kind(path):
        raise BadTrace(f"{path} is {found}. {accepted}")
