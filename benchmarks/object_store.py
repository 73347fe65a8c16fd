"""`python -m benchmarks.object_store [--short]`: large objects, long lists, and the memory of the endpoint meanwhile.

It writes up to ten gibibytes below the folder for temporary files, and removes them. It asserts nothing.
"""

import argparse
import http.client
import re
import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from urllib.parse import quote

from rich.console import Console
from rich.table import Table

from benchmarks import scene

MIB = 2**20
PART_BYTES = 64 * MIB
ZEROES = bytes(PART_BYTES)


@dataclass(frozen=True)
class Row:
    what: str
    took_s: float
    mib_per_s: float | None
    memory_mib: float


class Store:
    """The S3 face of a live endpoint, over one keep-alive connection, and the memory of the endpoint's processes."""

    def __init__(self, port: int, pid: int, folder: Path) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
        self._pid = pid
        self.folder = folder

    def ask(self, method: str, path: str, body: bytes = b"") -> tuple[http.client.HTTPMessage, bytes]:
        self._connection.request(method, path, body)
        with self._connection.getresponse() as answer:
            read = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {read[:300]!r}")
        return answer.headers, read

    def read_through(self, path: str) -> int:
        """Read an object piece by piece, and keep none of it."""
        self._connection.request("GET", path)
        with self._connection.getresponse() as answer:
            return sum(len(piece) for piece in iter(lambda: answer.read(MIB), b""))

    @contextmanager
    def measured(self, rows: list[Row], what: str, size_bytes: int = 0) -> Iterator[None]:
        """Time, and by how much the largest memory meanwhile exceeds that before."""
        for pid in scene.tree(self._pid):
            Path(f"/proc/{pid}/clear_refs").write_text("5")  # the high-water mark begins anew
        before_mib, began_s = self._peak_mib(), time.perf_counter()
        yield
        took_s = time.perf_counter() - began_s
        speed = size_bytes / MIB / took_s if size_bytes else None
        rows.append(Row(what, took_s, speed, self._peak_mib() - before_mib))

    def _peak_mib(self) -> float:
        status = (Path(f"/proc/{pid}/status").read_text() for pid in scene.tree(self._pid))
        return sum(int(found[1]) for text in status if (found := re.search(r"VmHWM:\s+(\d+)", text))) / 1024


@contextmanager
def running(folder: Path) -> Iterator[Store]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        command = [sys.executable, "-m", "torpor_endpoint", "--data-dir", str(folder)]
        descriptor = listener.fileno()
        process = subprocess.Popen([*command, "--descriptor", str(descriptor)], pass_fds=[descriptor])
        port = listener.getsockname()[1]
    try:
        store = Store(port, process.pid, folder / "s3")
        store.ask("PUT", "/bucket")
        yield store
    finally:
        process.terminate()
        process.wait()


def one_object(store: Store, rows: list[Row]) -> None:
    with store.measured(rows, "put an object of 64 MiB", PART_BYTES):
        store.ask("PUT", "/bucket/one", ZEROES)
    with store.measured(rows, "get it", PART_BYTES):
        store.read_through("/bucket/one")


def many_parts(store: Store, rows: list[Row], parts: int) -> None:
    size_bytes = parts * PART_BYTES
    _, begun = store.ask("POST", "/bucket/large?uploads")
    upload = quote(_found(rb"<UploadId>(.+?)</UploadId>", begun))
    etags: list[str] = []
    with store.measured(rows, f"put {parts} parts of 64 MiB", size_bytes):
        for number in range(1, parts + 1):
            told, _ = store.ask("PUT", f"/bucket/large?partNumber={number}&uploadId={upload}", ZEROES)
            etags.append(told["etag"])
    listed = (f"<Part><PartNumber>{n}</PartNumber><ETag>{etag}</ETag></Part>" for n, etag in enumerate(etags, start=1))
    document = f"<CompleteMultipartUpload>{''.join(listed)}</CompleteMultipartUpload>"
    with store.measured(rows, "join them to one object", size_bytes):
        store.ask("POST", f"/bucket/large?uploadId={upload}", document.encode())
    with store.measured(rows, "get it", size_bytes):
        assert store.read_through("/bucket/large") == size_bytes
    store.ask("DELETE", "/bucket/large")


def long_list(store: Store, rows: list[Row], objects: int) -> None:
    for number in range(objects):
        (store.folder / "bucket" / f"model-{number:06}.tar.gz").touch()
    with store.measured(rows, f"first page of 1,000 of {objects:,} files that were copied in"):
        store.ask("GET", "/bucket?list-type=2")
    token, pages = "", [0.0]
    with store.measured(rows, "all pages for the first time"):
        while token := _page(store, token, pages):
            pass
    pages.clear()
    with store.measured(rows, "all pages again"):
        while token := _page(store, token, pages):
            pass
    rows.append(Row("one of these pages, median", median(pages), None, 0.0))
    rows.append(Row("one of these pages, slowest", max(pages), None, 0.0))


def _page(store: Store, token: str, took: list[float]) -> str:
    """The next page's token, empty after the last."""
    began_s = time.perf_counter()
    _, body = store.ask(
        "GET", f"/bucket?list-type=2&continuation-token={quote(token)}" if token else "/bucket?list-type=2"
    )
    took.append(time.perf_counter() - began_s)
    return _found(rb"<NextContinuationToken>(.+?)</NextContinuationToken>", body)


def _found(pattern: bytes, body: bytes) -> str:
    match = re.search(pattern, body)
    return match[1].decode() if match else ""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.object_store", description=__doc__)
    parser.add_argument("--short", action="store_true", help="a smoke run: 4 parts and 2,000 objects")
    parts, objects = (4, 2000) if parser.parse_args().short else (80, 100_000)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as store:
        one_object(store, rows)
        many_parts(store, rows, parts)
        long_list(store, rows, objects)
    table = Table(title=f"The object store; this client itself took {_own_mib():.0f} MiB", title_justify="left")
    for name in ("what", "s", "MiB/s", "memory grew by MiB"):
        table.add_column(name)
    for row in rows:
        speed = "" if row.mib_per_s is None else f"{row.mib_per_s:,.0f}"
        table.add_row(row.what, f"{row.took_s:,.3f}", speed, f"{row.memory_mib:,.1f}")
    Console(width=120).print(table)


def _own_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
