"""Tar archives: plain ones from names and contents, malformed ones from TarInfo."""

import gzip
import io
import tarfile
from collections.abc import Iterable, Mapping


def tar_of(files: Mapping[str, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    return tar_with([(member(name, len(content)), content) for name, content in files.items()], form)


def tar_with(
    members: Iterable[tuple[tarfile.TarInfo, bytes]],
    form: int = tarfile.PAX_FORMAT,
    for_all: Mapping[str, str] | None = None,
) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form, pax_headers=for_all) as tar:
        for header, content in members:
            tar.addfile(header, io.BytesIO(content))
    return buffer.getvalue()


def member(name: str, size: int = 0, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    header = tarfile.TarInfo(name)
    header.size, header.type, header.linkname = size, kind, target
    return header


def tar_gz_of(files: Mapping[str, bytes]) -> bytes:
    return gzip.compress(tar_of(files), mtime=0)


def with_checksum(header: bytes) -> bytes:
    """A tar header after tampering, made to look right again."""
    total = sum(header[:148]) + 8 * 32 + sum(header[156:])
    return header[:148] + b"%06o\0 " % total + header[156:]
