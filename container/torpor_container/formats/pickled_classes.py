"""Reads the class of a pickled object from the pickle's instructions. It imports nothing and runs nothing."""

import bz2
import gzip
import lzma
import pickletools
import zlib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

HEAD_BYTES = 64 * 1024
"""How much of the file is read. The class is at the beginning, before the object's data."""

SKIPPED = frozenset({"PROTO", "FRAME", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "MARK"})
TEXT = frozenset({"SHORT_BINUNICODE", "BINUNICODE", "UNICODE", "BINUNICODE8"})
NAMED = frozenset({"GLOBAL", "INST"})
MAKERS = frozenset(
    {"copy_reg._reconstructor", "copyreg._reconstructor", "copy_reg.__newobj__", "copyreg.__reduce_ex__"}
)
"""These make an object of the class that follows."""


def of(path: Path) -> str | None:
    """`module.name`; "" for an object without a class, such as a dict; None for a file that is not a pickle."""
    try:
        return _first_class(_head(path))
    except Exception:  # noqa: BLE001  `pickletools` and decompressors meet arbitrary bytes, and may raise anything
        return None


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        magic = file.read(6)
        file.seek(0)
        for start, opened in READERS:
            if magic.startswith(start):
                with opened(file) as stream:
                    head: bytes = stream.read(HEAD_BYTES)
                    return head
        if magic[:1] == b"\x78":
            return zlib.decompressobj().decompress(file.read(HEAD_BYTES), HEAD_BYTES)
        return file.read(HEAD_BYTES)


READERS = (
    (b"\x1f\x8b", gzip.open),
    (b"BZh", bz2.open),
    (b"\xfd7zXZ", lzma.open),
    (b"\x5d\x00\x00", lzma.open),
)


def _first_class(head: bytes) -> str:
    texts: list[str] = []
    for name, argument in _operations(head):
        if name in TEXT:
            texts.append(str(argument))
        elif name in NAMED or name == "STACK_GLOBAL":
            found = str(argument).replace(" ", ".") if name in NAMED else ".".join(texts[-2:])
            if found not in MAKERS:
                return found
        elif name not in SKIPPED:
            return ""
    raise ValueError("it ends before its first object")


def _operations(head: bytes) -> Iterator[tuple[str, object]]:
    for operation, argument, _ in pickletools.genops(BytesIO(head)):
        yield operation.name, argument
