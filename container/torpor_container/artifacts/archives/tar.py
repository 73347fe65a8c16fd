"""Reads a tar stream member by member, and refuses members that no model needs. It never writes.

Why not `tarfile`: it takes a damaged header for the end of the archive, reads a header of any claimed size into memory,
and follows sparse maps. What is left of tar without links, devices and sparse files is small enough to read here.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from torpor_container.artifacts.archives.decompression import Bounded, Refused

BLOCK = 512
HEADER_MAX_BYTES = 64 * 1024
"""The most bytes of one extended header: long names, and the attributes that macOS adds."""
HEADERS_MAX = 4
"""Extended headers before one member. GNU tar and pax write at most three."""

_ZEROS = bytes(BLOCK)
_FILES = (b"0", b"\0", b"7")
_FOLDER = b"5"
_GNU_LONG_NAME, _GNU_LONG_LINK, _PAX, _PAX_GLOBAL = b"L", b"K", b"x", b"g"
_EXTENDED = (_GNU_LONG_NAME, _GNU_LONG_LINK, _PAX, _PAX_GLOBAL)
_REFUSED = {
    b"1": "a hard link (pack with tar --hard-dereference)",
    b"2": "a symbolic link (pack with tar -h, which stores what it points to)",
    b"3": "a device",
    b"4": "a device",
    b"6": "a named pipe",
    b"S": "a sparse file (pack without tar -S)",
}
_OCTAL = re.compile(rb"[0-7]*")
_DECIMAL = re.compile(rb"[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class TarMember:
    """One file or folder. `path` is as in the archive, unchecked."""

    path: str
    size_bytes: int
    is_folder: bool


@dataclass(slots=True)
class _Extension:
    """What extended headers say about the member that follows."""

    path: bytes = b""
    size_bytes: int | None = None


def is_header(block: bytes) -> bool:
    """Whether these 512 bytes are a tar header: its checksum says so, in old tars without a magic number too."""
    if len(block) != BLOCK or block == _ZEROS:
        return False
    try:
        return _number(block[148:156]) == sum(block) - sum(block[148:156]) + 8 * ord(" ")
    except Refused:
        return False


def members(stream: Bounded) -> Iterator[TarMember]:
    """Every member up to the end mark. After each, the caller may read its content from the stream, or skip it."""
    while header := _header(stream):
        extension = _Extension()
        for _ in range(HEADERS_MAX):
            if header[156:157] not in _EXTENDED:
                break
            _extend(extension, header, stream)
            header = _header(stream)
        member = _member(header, extension)
        end = stream.position + _padded(member.size_bytes)
        yield member
        _skip(stream, end - stream.position)
    _expect_nothing_more(stream)


def _header(stream: Bounded) -> bytes:
    """The next header block; empty at the end mark."""
    at_start = stream.position == 0
    block = stream.exactly(BLOCK)
    if block == _ZEROS:
        return b""
    if not block and at_start:
        raise Refused("it is empty")
    if len(block) < BLOCK:
        raise Refused("it ends in the middle: the tar archive has no end mark")
    if not is_header(block):
        raise Refused(
            "its content is not a tar archive, as that of `tar -czf` is" if at_start else "a tar header is damaged"
        )
    return block


def _member(header: bytes, extension: _Extension) -> TarMember:
    if not header:
        raise Refused("it ends in the middle: a long name is followed by no member")
    path, kind = extension.path or _path(header), header[156:157]
    size_bytes = _number(header[124:136]) if extension.size_bytes is None else extension.size_bytes
    shown = path.decode(errors="replace")[:200]
    is_folder = kind == _FOLDER or (kind in _FILES and path.endswith(b"/"))
    if not is_folder and kind not in _FILES:
        raise Refused(f"{shown!r} is {_REFUSED.get(kind, f'a member of unknown type {kind!r}')}")
    if is_folder and size_bytes:
        raise Refused(f"{shown!r} is a folder with content")
    return TarMember(os.fsdecode(path), size_bytes, is_folder)


def _path(header: bytes) -> bytes:
    name, prefix = _text(header[:100]), b""
    if header[257:263] == b"ustar\0":  # GNU's own format ends the magic with spaces and keeps other things there
        prefix = _text(header[345:500])
    return prefix + b"/" + name if prefix else name


def _extend(extension: _Extension, header: bytes, stream: Bounded) -> None:
    size_bytes, kind = _number(header[124:136]), header[156:157]
    if size_bytes > HEADER_MAX_BYTES:
        raise Refused(f"an extended tar header claims {size_bytes} bytes")
    content = stream.exactly(_padded(size_bytes))[:size_bytes]
    if len(content) < size_bytes:
        raise Refused("it ends in the middle of a tar header")
    if kind == _GNU_LONG_NAME:
        extension.path = _text(content)
    elif kind in (_PAX, _PAX_GLOBAL):
        _apply(extension, dict(_records(content)), for_all=kind == _PAX_GLOBAL)


def _apply(extension: _Extension, records: dict[bytes, bytes], for_all: bool) -> None:
    if any(name.startswith(b"GNU.sparse") for name in records):
        raise Refused("it holds a sparse file (pack without tar -S)")
    path, size = records.get(b"path"), records.get(b"size")
    if for_all and (path is not None or size is not None):
        raise Refused("a global tar header gives all files one name or size")
    if path is not None:
        extension.path = path
    if size is not None:
        if not _DECIMAL.fullmatch(size):
            raise Refused("a tar header gives a size that is not a number")
        extension.size_bytes = int(size)


def _records(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """pax: "%d %s=%s\\n", the number being the length of the whole record."""
    at = 0
    while at < len(content):
        digits = content[at : at + 8].partition(b" ")[0]
        length = int(digits) if digits.isdigit() else 0
        record = content[at : at + length]
        name, equals, value = record[len(digits) + 1 : -1].partition(b"=")
        if not equals or not record.endswith(b"\n") or len(record) < length:
            raise Refused("a pax header is damaged")
        yield name, value
        at += length


def _number(digits: bytes) -> int:
    """Octal, or GNU's base 256 for what octal cannot hold."""
    if digits[:1] == b"\x80":
        return int.from_bytes(digits[1:], "big")
    octal = _text(digits).strip(b" ")
    if not _OCTAL.fullmatch(octal):
        raise Refused("a tar header gives a size that is not a number")
    return int(octal or b"0", 8)


def _text(padded: bytes) -> bytes:
    return padded.partition(b"\0")[0]


def _padded(size_bytes: int) -> int:
    return -(-size_bytes // BLOCK) * BLOCK


def _skip(stream: Bounded, size_bytes: int) -> None:
    while size_bytes:
        piece = stream.read(min(size_bytes, HEADER_MAX_BYTES))
        if not piece:
            raise Refused("it ends in the middle of a file")
        size_bytes -= len(piece)


def _expect_nothing_more(stream: Bounded) -> None:
    while piece := stream.read(HEADER_MAX_BYTES):
        if piece.strip(b"\0"):
            raise Refused("there is something else after the end of the tar archive")
