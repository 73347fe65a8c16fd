"""Reads `requirements.txt` as pip does: its encoding, continued lines, comments, and the files that it includes.

It decides what each line is. It knows no installed package, and installs nothing.
"""

import codecs
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Final, NamedTuple

MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte order marks. PowerShell writes UTF-16, Notepad UTF-8 with a mark. Those of UTF-32 begin like those of UTF-16."""
NAMED: Final = re.compile(rb"coding[:=]\s*([-\w.]+)")
"""An encoding in a comment of the first two lines (PEP 263)."""
COMMENT: Final = re.compile(r"(^|\s+)#.*$")
OPTION: Final = re.compile(
    r"(?P<long>--requirement|--constraint|--editable|--find-links)(?:\s*=\s*|\s+)(?P<value>.+)"
    r"|(?P<short>-[rcef])\s*=?\s*(?P<short_value>.+)"
)
LONG: Final = {"-r": "--requirement", "-c": "--constraint", "-e": "--editable", "-f": "--find-links"}
DEPTH_MAX: Final = 5


class LineKind(Enum):
    REQUIREMENT = "requirement"
    CONSTRAINT = "constraint"
    OPTION = "option"
    """It is for the installer alone."""


class RequirementLine(NamedTuple):
    """One line: as written (`shown`), and with files at absolute paths (`text`), which mean the same in any file."""

    text: str
    shown: str
    kind: LineKind


def read(file: Path) -> list[RequirementLine]:
    """All lines, also of included files, without comments and empty ones.

    Raises OSError; ValueError and LookupError for a file that is not of its encoding.
    """
    return list(_lines(file, file.parent, LineKind.REQUIREMENT, 0))


def decoded(data: bytes) -> str:
    """A file's text: a byte order mark decides, then a comment, else it is UTF-8. Raises ValueError, LookupError."""
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding)
    for line in data.split(b"\n")[:2]:
        if line.startswith(b"#") and (named := NAMED.search(line)):
            return data.decode(named[1].decode("ascii"))
    return data.decode("utf-8")


def _lines(file: Path, base: Path, kind: LineKind, depth: int) -> Iterator[RequirementLine]:
    """`base` is where pip runs: the paths of packages begin there, and those of files beside the file itself."""
    text = decoded(file.read_bytes())
    for line in re.sub(r"\\\r?\n", " ", text).splitlines():
        shown = COMMENT.sub("", line).strip()
        if not shown:
            continue
        option = OPTION.fullmatch(shown)
        if option is None:
            yield _plain(shown, base, kind)
            continue
        name = option["long"] or LONG[option["short"]]
        value = (option["value"] or option["short_value"]).strip()
        included = {"--requirement": kind, "--constraint": LineKind.CONSTRAINT}.get(name)
        if included is not None and "://" not in value and depth < DEPTH_MAX:
            yield from _lines(file.parent / value, base, included, depth + 1)
        elif name == "--editable":
            yield RequirementLine(f"{name} {_absolute(value, base)}", shown, kind)
        else:
            yield RequirementLine(f"{name} {_absolute(value, file.parent)}", shown, LineKind.OPTION)


def _plain(shown: str, base: Path, kind: LineKind) -> RequirementLine:
    if shown.startswith("-"):
        return RequirementLine(shown, shown, LineKind.OPTION)
    is_path = "/" in shown or shown.endswith((".whl", ".gz", ".zip"))
    return RequirementLine(_absolute(shown, base) if is_path else shown, shown, kind)


def _absolute(value: str, base: Path) -> str:
    """The path from the root; anything that is no path stays as it is."""
    return value if "://" in value or not (base / value).exists() else str((base / value).absolute())
