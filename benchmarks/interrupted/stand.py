"""The endpoint process that is killed and started again, with everything that it starts."""

import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from benchmarks.sleeping import children

REGION = "us-east-1"
PORT_WITHIN_S = 20.0


class Stand:
    """One data folder and one port, and the endpoint process that has them at the moment."""

    def __init__(self, folder: Path, *options: str) -> None:
        """`options` are those of the endpoint's command line, beside its port and data folder."""
        self._options = options
        self.data_dir = folder / "endpoint"
        self.temporary = folder / "temporary"
        self.temporary.mkdir(parents=True)
        self.log = folder / "endpoint.log"
        self._mark = uuid.uuid4().hex
        self.environment = {**os.environ, "TMPDIR": str(self.temporary), "TORPOR_INTERRUPTED": self._mark}
        self._session = boto3.Session("interrupted", "interrupted", region_name=REGION)
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    def __enter__(self) -> "Stand":
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        with suppress(subprocess.TimeoutExpired):
            self.stop()
        for pid in self.marked():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def start(self) -> None:
        """Start the process. Its port listens when this returns."""
        with self._listener() as listener, self.log.open("ab") as log:
            self.port = listener.getsockname()[1]
            descriptor = listener.fileno()
            command = [sys.executable, "-m", "torpor_endpoint", "--data-dir", str(self.data_dir)]
            command += ["--port", str(self.port), "--descriptor", str(descriptor), *self._options]
            self._process = subprocess.Popen(
                command, env=self.environment, stdout=log, stderr=log, pass_fds=[descriptor]
            )

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(60.0)

    def client(self, service: str, attempts: int = 1) -> Any:
        config = Config(retries={"total_max_attempts": attempts, "mode": "standard"}, max_pool_connections=16)
        return self._session.client(service, endpoint_url=self.url, config=config)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def bucket(self, name: str) -> Path:
        """The folder that is this bucket, made if need be."""
        folder = self.data_dir / "s3" / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    # -- kills -----------------------------------------------------------------------------------------------------
    def kill_endpoint(self) -> None:
        """SIGKILL to gunicorn's arbiter and its worker."""
        assert self._process is not None
        for pid in (self._process.pid, *children(self._process.pid)):
            _killed(pid)
        self._process.wait()

    def kill_worker(self) -> None:
        """SIGKILL to gunicorn's worker, which its arbiter replaces."""
        assert self._process is not None
        for pid in children(self._process.pid):
            _killed(pid)

    def kill_instance(self) -> bool:
        """SIGKILL to an instance, or to the script of one of its models. False if there is none."""
        found = [pid for parent in self.below_worker() for pid in children(parent)]
        for pid in found[:1]:
            _killed(pid)
        return bool(found)

    def kill_zygote(self) -> bool:
        """SIGKILL to the process from which instances are forked. False if there is none."""
        found = self.below_worker()
        for pid in found[:1]:
            _killed(pid)
        return bool(found)

    def marked(self) -> list[int]:
        """Every process that was started here, whatever its parent is now."""
        return [int(folder.name) for folder in Path("/proc").glob("[0-9]*") if self._mark in _environment(folder)]

    @property
    def pid(self) -> int:
        """Of the process that was started last."""
        assert self._process is not None
        return self._process.pid

    def below_worker(self) -> list[int]:
        """What the endpoint has started itself: the zygote, routers."""
        assert self._process is not None
        return [pid for worker in children(self._process.pid) for pid in children(worker)]

    def _listener(self) -> socket.socket:
        """The port may be held for a moment yet, by a worker that dies."""
        deadline = time.monotonic() + PORT_WITHIN_S
        while True:
            try:
                return socket.create_server(("127.0.0.1", self.port), backlog=1024)
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)


def _killed(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _environment(folder: Path) -> str:
    with suppress(OSError):
        return (folder / "environ").read_bytes().decode("latin-1")
    return ""
