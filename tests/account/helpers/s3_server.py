"""A store behind a real port, and boto3 clients that talk to it."""

import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

HERE = Path(__file__).parent
KEYS = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": "us-east-1"}


@dataclass(frozen=True)
class Server:
    """An arbiter with one worker."""

    url: str
    root: Path
    process: subprocess.Popen[bytes]

    def worker_pid(self) -> int:
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return int(children[0])

    def kill(self) -> None:
        """kill -9 for the worker and its arbiter, as when the machine takes the whole group."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@contextmanager
def serving(root: Path, **environment: str) -> Iterator[Server]:
    """The server inherits a socket that listens already, so an early client just waits."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        command = [sys.executable, str(HERE / "s3_server_app.py"), str(listener.fileno())]
        process = subprocess.Popen(
            command,
            env={**os.environ, "S3_SERVER_ROOT": str(root), **environment},
            pass_fds=[listener.fileno()],
            start_new_session=True,
        )
    server = Server(f"http://127.0.0.1:{port}", root, process)
    try:
        urllib.request.urlopen(server.url, timeout=60).close()
        yield server
    finally:
        if process.poll() is None:
            server.kill()


def client(url: str | None, **config: Any) -> Any:
    return boto3.client("s3", endpoint_url=url, config=Config(**config), **KEYS)
