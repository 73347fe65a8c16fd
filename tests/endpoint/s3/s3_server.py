"""A store behind a real port under gunicorn, and boto3 clients that talk to it."""

import os
import signal
import socket
import subprocess
import sys
import time
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
    """One gunicorn with one worker."""

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


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def serving(root: Path, **environment: str) -> Iterator[Server]:
    port = free_port()
    command = [sys.executable, "-m", "gunicorn", "--worker-class", "asgi", "--bind", f"127.0.0.1:{port}"]
    command += ["--asgi-lifespan", "off", "--header-map", "dangerous", "--limit-request-line", "0"]
    command += ["--chdir", str(HERE), "--log-level", "warning", "s3_site:app()"]
    process = subprocess.Popen(
        command, env={**os.environ, "S3_SITE_ROOT": str(root), **environment}, start_new_session=True
    )
    server = Server(f"http://127.0.0.1:{port}", root, process)
    try:
        _await_answers(port, process)
        yield server
    finally:
        if process.poll() is None:
            server.kill()


def _await_answers(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                probe.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
                if probe.recv(1):
                    return
        time.sleep(0.02)
    raise RuntimeError("the server did not come up")


def client(url: str | None, **config: Any) -> Any:
    return boto3.client("s3", endpoint_url=url, config=Config(**config), **KEYS)
