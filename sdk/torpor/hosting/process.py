"""An endpoint process on a free port: started, awaited, stopped, and never left behind. It knows no SageMaker."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from torpor.calling.connection import EndpointConnection
from torpor.calling.defaults import REGION
from torpor.errors import EndpointFailed, TorporError
from torpor.extras import require
from torpor.hosting.attached import TEMPORARY
from torpor.hosting.occupancy import ensure_free, ensure_writable
from torpor_endpoint.core.pages import PageName

if TYPE_CHECKING:
    from torpor.calling.caller import Caller

READY_WITHIN_S = 60.0
STOPPED_WITHIN_S = 4.8
"""The endpoint itself gives its stop four seconds; see `torpor_endpoint.up`."""
TOLD_LINES = 15
"""How much of its output an endpoint that failed is quoted with."""


@dataclass(frozen=True)
class Start:
    """What an endpoint process is started with, under the names of `Options`. `data_dir` None is a temporary folder,
    removed at the end."""

    data_dir: Path | None = None
    strict: bool = False
    region: str = REGION
    s3_endpoint: str | None = None
    images: Path | None = None
    unknown_images: str = "refuse"
    log_level: str = "warning"


class ChildEndpoint:
    """An endpoint in a process of its own. It ends with `close`, with the with-block, or with this process.

    Raises EndpointFailed for a data folder that another one uses, or that cannot be written.
    """

    def __init__(self, start: Start = Start()) -> None:
        require("an endpoint", "endpoint", "container")
        temporary = start.data_dir is None
        self.data_dir = Path(start.data_dir or tempfile.mkdtemp(prefix="torpor-")).resolve()
        ensure_writable(self.data_dir)
        ensure_free(self.data_dir)
        self._log = self.data_dir / "endpoint.log"
        # The socket listens before the process runs, so the port cannot be lost, and the first request simply waits.
        with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
            self.connection = EndpointConnection(f"http://127.0.0.1:{listener.getsockname()[1]}", start.region)
            self._process = _spawn(listener, _arguments(start, self.data_dir, listener), self._log)
        self._clients: list[Any] = []
        folder = self.data_dir if temporary else None
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
        """The variables that wire boto3, the AWS CLI and the SageMaker SDK of another process to it."""
        return self.connection.environment

    @property
    def pid(self) -> int:
        return self._process.pid

    def client(self, service: str, **options: Any) -> Any:
        """A boto3 client of this service, wired to it, and closed with it."""
        made = self.connection.client(service, **options)
        self._clients.append(made)
        return made

    def caller(self, **options: Any) -> "Caller":
        """A `torpor.Caller` of it, closed with it."""
        made = self.connection.caller(**options)
        self._clients.append(made)
        return made

    def release(self, client: Any) -> None:
        """Close one of its clients, or callers, before it ends itself."""
        self._clients.remove(client)
        client.close()

    def bucket_folder(self, name: str) -> Path:
        """The folder that is this bucket, made if need be: a file put into it is an object."""
        folder = self.data_dir / "s3" / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def until_ready(self) -> Self:
        """Wait for its first good answer. Raises EndpointFailed with what it printed last."""
        try:
            self.connection.page(PageName.HEALTH, timeout_s=READY_WITHIN_S)
        except TorporError as error:
            ended, output = self._process.poll() is not None, self.output()
            self.close()
            said = output if ended and output else f"{error}\n{output}"
            raise EndpointFailed(f"the endpoint did not start: {said}") from error
        return self

    def output(self) -> str:
        """The last lines that it printed."""
        lines = self._log.read_text(errors="replace").splitlines() if self._log.exists() else []
        return "\n".join(lines[-TOLD_LINES:])

    def close(self) -> None:
        """Ask it to stop, wait, force it at last; then remove its folder if it was a temporary one."""
        self._end()


def _arguments(start: Start, data_dir: Path, listener: socket.socket) -> list[str]:
    """What `torpor.hosting.attached` is called with: `Options` as JSON takes them, and whose the folder is."""
    options = {
        **vars(start),
        "data_dir": str(data_dir),
        "images": str(start.images.resolve()) if start.images else None,
        "port": listener.getsockname()[1],
        "descriptor": listener.fileno(),
    }
    return [json.dumps(options), *([TEMPORARY] if start.data_dir is None else [])]


def _spawn(listener: socket.socket, arguments: Sequence[str], log: Path) -> "subprocess.Popen[bytes]":
    with log.open("ab") as output:
        return subprocess.Popen(
            [sys.executable, "-m", "torpor.hosting.attached", *arguments],
            stdin=subprocess.PIPE,  # the lifeline
            stdout=output,
            stderr=output,
            pass_fds=[listener.fileno()],
            start_new_session=True,  # Ctrl-C is for us
        )


def _end(process: "subprocess.Popen[bytes]", clients: list[Any], temporary: Path | None) -> None:
    """Called once only, as finalizers are: when it is interrupted, it ends the process the hard way."""
    try:
        for client in clients:
            client.close()  # a server that drains would wait for the connections that a client keeps
        process.terminate()
        process.send_signal(signal.SIGCONT)  # one that was stopped would not hear it
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOPPED_WITHIN_S)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # its whole session
            process.wait()
        if process.stdin is not None:
            process.stdin.close()
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
