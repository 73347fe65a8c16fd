"""Recognises the kind of a file by its first bytes, since its name may be wrong."""

import gzip
import zlib
from codecs import getincrementaldecoder
from pathlib import Path

from torpor.workloads.trace import BadTrace

HEAD_BYTES = 4096
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
    """The kind in words that follow "is"; TEXT for a file that may be CSV. For `.gz`, the kind of the packed file.
    Raises BadTrace for a file that cannot be read."""
    if path.is_dir():
        within = f": name {path.name}/ledger.sqlite" if (path / "ledger.sqlite").is_file() else ""
        return f"a folder{within}"
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            first = file.read(HEAD_BYTES)
    except (OSError, EOFError, zlib.error) as error:
        raise BadTrace(f"{path}: {error}") from error
    if not first:
        return "empty"
    known = next((words for mark, words in MARKS if first.startswith(mark)), TEXT)
    return known or _why_not_text(first)


def _why_not_text(first: bytes) -> str:
    """Why the bytes are not text, in words. Their last letter may be incomplete."""
    if b"\x00" in first:
        return "not text"
    try:
        getincrementaldecoder("utf-8")().decode(first)
    except UnicodeDecodeError as error:
        return f"not text in UTF-8: {error}"
    return TEXT


def csv_or_refused(path: Path, accepted: str) -> None:
    """Raises BadTrace for a file that is not text. `accepted` says which files are accepted."""
    if found := kind(path):
        raise BadTrace(f"{path} is {found}. {accepted}")
