"""A web site that attacks an endpoint, and the headless browser of a victim who opens it.

The site answers on two addresses of this machine. Its pages are of the origin by whose name the browser asks for them.
"""

import json
import os
import queue
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

PAGE = Path(__file__).with_name("hostile_page.html").read_bytes()
WITHIN_S = 90.0
FLAGS = (
    *("--headless=new", "--disable-gpu", "--no-first-run"),
    *("--disable-dev-shm-usage", "--disable-background-networking"),
)


def browser() -> str | None:
    """The path of a Chromium, if there is one."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class HostileWebSite:
    """`reports` has the reports of the pages, each with its mark."""

    def __init__(self, address: str, port: int = 0) -> None:
        self.reports: queue.Queue[tuple[str, Mapping[str, str]]] = queue.Queue()
        self._server = ThreadingHTTPServer((address, port), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def report(self, mark: str) -> Mapping[str, str]:
        """Waits for the report of the page of this mark. Returns what the page read, by the names of its attempts."""
        told, read = self.reports.get(timeout=WITHIN_S)
        assert told == mark
        return read

    def _handler(site) -> type[BaseHTTPRequestHandler]:  # noqa: N805  `self` is the handler's
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(PAGE if self.path.startswith("/?") else b"")

            def do_POST(self) -> None:
                read = json.loads(self.rfile.read(int(self.headers["content-length"])))
                self._answer(b"")
                site.reports.put((parse_qs(urlsplit(self.path).query)["mark"][0], read))

            def _answer(self, body: bytes) -> None:
                self.send_response(200)
                self.send_header("content-type", "text/html")
                self.send_header("content-length", str(len(body)))
                self.send_header("connection", "close")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *said: object) -> None:
                pass

        return Handler


def page(host: str, **query: str) -> str:
    """The address of the hostile page on this host and port."""
    return f"http://{host}/?{urlencode(query)}"


@contextmanager
def opened(url: str, *flags: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A headless browser that shows this page, for as long as the block lasts. Its output is the page, if so asked."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [browser() or "chromium", *FLAGS, f"--user-data-dir={profile}", *flags]
        command += ["--no-sandbox"] * (os.getuid() == 0)  # root has none
        running = subprocess.Popen(
            [*command, url], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            yield running
        finally:
            with suppress(ProcessLookupError):
                os.killpg(running.pid, 9)
            running.communicate()


class Rebinding:
    """The address of a name that a name server leads elsewhere between two requests: connections that ask for the
    hostile page get it, and the bytes of all others are carried to another address."""

    def __init__(self, address: tuple[str, int], to: tuple[str, int]) -> None:
        self._listener = socket.create_server(address)
        self._to = to
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=self._answer, args=(self._listener.accept()[0],), daemon=True).start()

    def _answer(self, caller: socket.socket) -> None:
        with suppress(OSError), caller:
            head = caller.recv(1 << 16)
            if head.startswith(b"GET /?endpoint="):
                told = f"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {len(PAGE)}\r\n"
                caller.sendall(f"{told}connection: close\r\n\r\n".encode() + PAGE)
            elif head:
                with socket.create_connection(self._to) as called:
                    called.sendall(head)
                    back = threading.Thread(target=_carry, args=(called, caller), daemon=True)
                    back.start()
                    _carry(caller, called)
                    back.join()


def _carry(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
