"""Starts an endpoint process on a free port, waits until it answers, and stops it. It never leaves one behind."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from torpor.calling.connection import EndpointConnection
from torpor.calling.defaults import REGION
from torpor.errors import EndpointFailed, EndpointUnreachable, TorporError
from torpor.extras import require
from torpor.hosting.attached_endpoint import TEMPORARY
from torpor.hosting.data_folder import ensure_free, ensure_writable
from torpor.hosting.endpoint_modules import ANALYZER, simulator
from torpor_container.waiting.quiet_time import QuietClock
from torpor_endpoint.core.pages import PageName
from torpor_endpoint.options import Options
from torpor_endpoint.starting.cannot_start import BadOption
from torpor_endpoint.up import secured

if TYPE_CHECKING:
    from torpor.calling.caller import Caller

ANY_PORT = 0
READY_WITHIN_S = 60.0
STOPPED_WITHIN_S = 4.8
"""The endpoint takes at most four seconds to stop; see `torpor_endpoint.up`."""
NO_GUESS_S = 59.0
"""With this `warm_idle_s`, no zygote starts for models that may come: scikit-learn's import takes two seconds of a
processor, and starts once a model needs it."""
QUOTED_LINES = 15
"""How many lines of its output the error quotes if the endpoint fails."""


@dataclass(frozen=True)
class Start:
    """The options of an endpoint process, under the names of `Options`. `data_dir` None is a temporary folder, which is
    removed at the end."""

    data_dir: Path | None = None
    strict: bool = False
    region: str = REGION
    s3_endpoint: str | None = None
    images: Path | None = None
    unknown_images: str = "refuse"
    log_level: str = "warning"
    travelling_clock: bool = False
    faults: bool = False
    otel: bool = False
    tls_self_signed: bool = False
    warm_idle_s: float = Options.warm_idle_s
    services: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The URLs of services that are called elsewhere, by the ends of their variables: `{"DYNAMODB": "http://…"}` is
    AWS_ENDPOINT_URL_DYNAMODB. It is an option of the environment of callers, and not of the process."""


class ChildEndpoint:
    """An endpoint in a process of its own. It ends with `close`, with the with-statement, or with this process.

    Raises EndpointFailed for a data folder that another one uses, or that cannot be written.
    """

    def __init__(self, start: Start = Start()) -> None:
        require("an endpoint", "endpoint", "container")
        self._start = start
        self.data_dir = Path(start.data_dir or tempfile.mkdtemp(prefix="torpor-")).resolve()
        ensure_writable(self.data_dir)
        ensure_free(self.data_dir)
        self._log = self.data_dir / "endpoint.log"
        self._clients: list[Any] = []
        self._begin(ANY_PORT)

    def _begin(self, port: int) -> None:
        """Start the process. The socket listens before it: nobody else can take the port, and early requests wait."""
        start, folder = self._start, self.data_dir if self._start.data_dir is None else None
        with ExitStack() as failed:
            if folder is not None:
                failed.callback(shutil.rmtree, folder, ignore_errors=True)
            listener = failed.enter_context(socket.create_server(("127.0.0.1", port), backlog=1024))
            self.connection = _connection(start, self.data_dir, listener.getsockname()[1])
            self._process = _spawn(listener, _arguments(start, self.data_dir, listener), self._log)
            failed.pop_all()
        listener.close()
        self._end = weakref.finalize(self, _end, self._process, self._clients, folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        return self.connection.url

    @property
    def environment(self) -> dict[str, str]:
        """The variables that connect boto3, the AWS CLI and the SageMaker SDK of another process to the endpoint."""
        return self.connection.environment

    @property
    def pid(self) -> int:
        return self._process.pid

    def client(self, service: str, **options: Any) -> Any:
        """A boto3 client of this service, connected to the endpoint, and closed with it."""
        made = self.connection.client(service, **options)
        self._clients.append(made)
        return made

    def caller(self, **options: Any) -> "Caller":
        """A `torpor.Caller` of the endpoint, closed with it."""
        made = self.connection.caller(**options)
        self._clients.append(made)
        return made

    def release(self, client: Any) -> None:
        """Close one of the clients or callers before the endpoint ends."""
        self._clients.remove(client)
        client.close()

    def bucket_folder(self, name: str) -> Path:
        """The folder of this bucket, which is created if it does not exist. A file in it is an object."""
        folder = self.data_dir / "s3" / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def until_ready(self) -> Self:
        """Wait until the endpoint answers. Raises EndpointFailed with what it printed last."""
        try:
            self._answer()
        except TorporError as error:
            if _was_closed(error):  # the process had the socket, and is ending
                _wait_for_end(self._process)
            ended, output = self._process.poll() is not None, self.output()
            self.close()
            reason = output if ended and output else f"{error}\n{output}"
            raise EndpointFailed(f"the endpoint did not start: {reason}") from error
        return self

    def reset(self) -> Self:
        """Remove everything: endpoints, buckets, users, queues, metrics, ledger. The clock is the real one again.

        The process starts anew with an empty data folder, on the same port; clients and callers stay usable. Raises
        TorporError for a data folder that the caller has given.
        """
        if self._start.data_dir is not None:
            raise TorporError(f"reset would remove {self.data_dir}: start the endpoint without data_dir to reset it")
        self._end()
        self.data_dir.mkdir(mode=0o700)
        self._begin(urlsplit(self.url).port or ANY_PORT)
        return self.until_ready()

    def _answer(self) -> None:
        """Wait for the first answer, and on a busy machine for longer. Raises TorporError."""
        quiet_s = QuietClock()
        while True:
            asked_s = time.monotonic()
            try:
                self.connection.page(PageName.HEALTH, timeout_s=READY_WITHIN_S)
                return
            except EndpointUnreachable:
                timed_out = time.monotonic() - asked_s >= READY_WITHIN_S
                if not timed_out or quiet_s() >= READY_WITHIN_S or self._process.poll() is not None:
                    raise

    def output(self) -> str:
        """The last lines that the endpoint printed."""
        lines = self._log.read_text(errors="replace").splitlines() if self._log.exists() else []
        return "\n".join(lines[-QUOTED_LINES:])

    def close(self) -> None:
        """Ask the process to stop, wait, and kill it if it does not; then remove its folder if that is temporary."""
        self._end()


def _connection(start: Start, data_dir: Path, port: int) -> EndpointConnection:
    """The connection to an endpoint that is to start. Its own certificate is made now, so that this process has it."""
    options = Options(data_dir, port=port, tls_self_signed=start.tls_self_signed)
    if not options.tls:
        return EndpointConnection(options.url, start.region, services=start.services)
    try:
        known, _ = secured(options)
    except BadOption as error:
        raise EndpointFailed(f"the endpoint did not start: {error}") from error
    return EndpointConnection(known.url, start.region, services=start.services, ca_bundle=str(known.ca_bundle))


def _arguments(start: Start, data_dir: Path, listener: socket.socket) -> list[str]:
    """The arguments of `attached_endpoint`: `Options` as JSON, and whether the data folder is temporary."""
    options = {
        **{name: value for name, value in vars(start).items() if name != "services"},
        "data_dir": str(data_dir),
        "images": str(start.images.resolve()) if start.images else None,
        "port": listener.getsockname()[1],
        "descriptor": listener.fileno(),
        "what_if": simulator(),
        "analyzer": ANALYZER,
    }
    return [json.dumps(options), *([TEMPORARY] if start.data_dir is None else [])]


def _spawn(listener: socket.socket, arguments: Sequence[str], log: Path) -> "subprocess.Popen[bytes]":
    with log.open("ab") as output:
        return subprocess.Popen(
            [sys.executable, "-m", "torpor.hosting.attached_endpoint", *arguments],
            stdin=subprocess.PIPE,  # the lifeline
            stdout=output,
            stderr=output,
            pass_fds=[listener.fileno()],
            start_new_session=True,  # so that Ctrl-C reaches only this process
        )


def _end(process: "subprocess.Popen[bytes]", clients: list[Any], temporary: Path | None) -> None:
    """Stop the process. A finalizer runs only once, so if it is interrupted, it kills the process."""
    try:
        for client in clients:
            client.close()  # a draining server waits for open connections
        process.terminate()
        process.send_signal(signal.SIGCONT)  # a stopped process does not handle SIGTERM
        _wait_for_end(process)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # its whole session
            process.wait()
        if process.stdin is not None:
            process.stdin.close()
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


def _wait_for_end(process: "subprocess.Popen[bytes]") -> None:
    """Wait until the process has ended; on a busy machine for longer."""
    quiet_s = QuietClock()
    while process.poll() is None and (left_s := STOPPED_WITHIN_S - quiet_s()) > 0:
        with suppress(subprocess.TimeoutExpired):
            process.wait(left_s)


def _was_closed(error: TorporError) -> bool:
    """Whether a connection was refused, or closed before its answer."""
    cause = error.__cause__
    return isinstance(getattr(cause, "reason", cause), ConnectionError)
