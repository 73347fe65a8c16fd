"""An endpoint for the SageMaker SDK scripts: started, wired as a user would, ended. Standard library only.

The SDK has a Python environment of its own, so everything of Torpor's is another process: `torpor up`, `torpor env
--sagemaker`, and the Python that trains the models.
"""

import argparse
import json
import os
import shlex
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
METADATA = Path("/opt/ml/metadata/resource-metadata.json")
VARIABLES = 5
"""The lines that `torpor up` prints once it can be reached."""


class Outside:
    """Stands in for the way to AWS, and leads nowhere: an HTTPS proxy that remembers where it was asked to go."""

    def __init__(self) -> None:
        self.wanted: list[str] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._refuse, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def _refuse(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            with connection:
                self.wanted.append(connection.recv(1024).decode(errors="replace").partition("\r\n")[0])


@dataclass(frozen=True)
class SageMakerEndpoint:
    """A running endpoint, artifacts to deploy, and what they must answer."""

    folder: Path
    expected: dict[str, list[Any]]
    outside: Outside

    @property
    def rows(self) -> list[list[float]]:
        return self.expected["rows"]

    def path(self, name: str) -> str:
        return str(self.folder / name)


class Steps:
    """One printed line for each step; a step that fails does not keep the others from being tried."""

    def __init__(self) -> None:
        self.failed = 0

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        began_s = time.monotonic()
        try:
            yield
        except Exception as error:  # noqa: BLE001  the outermost edge of a script
            self.failed += 1
            self._told("FAIL", began_s, f"{name}: {type(error).__name__}: {error}")
        else:
            self._told("ok", began_s, name)

    def _told(self, result: str, began_s: float, text: str) -> None:
        """On a line of its own: the SDK's progress bars end in the middle of one."""
        print(f"\n{result:4} {time.monotonic() - began_s:5.1f} s  {text}", flush=True)


@contextmanager
def sagemaker_endpoint(*options: str) -> Iterator[SageMakerEndpoint]:
    """An endpoint that this process's own boto3 and SDK reach: import the SDK inside the block. `options`: `up`'s."""
    binaries = _binaries()
    with tempfile.TemporaryDirectory(prefix="torpor-sdk-") as name:
        folder = Path(name)
        subprocess.run([binaries / "python", HERE / "sagemaker_artifacts.py", folder], check=True)
        command: list[str | Path] = [binaries / "torpor", "up", "--port", "0", "--data-dir", folder / "data", *options]
        with _metadata_kept(), subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as up:
            try:
                assert up.stdout is not None
                os.environ |= _exported("".join(up.stdout.readline() for _ in range(VARIABLES)))
                os.environ["XDG_CONFIG_HOME"] = str(folder)
                wiring = subprocess.run([binaries / "torpor", "env", "--sagemaker"], stdout=subprocess.PIPE, check=True)
                os.environ |= _exported(wiring.stdout.decode())
                outside = Outside()
                os.environ["HTTPS_PROXY"] = outside.url
                yield SageMakerEndpoint(folder, json.loads((folder / "expected.json").read_text()), outside)
            finally:
                up.terminate()


def auth_options() -> tuple[str, ...]:
    """`--auth` where the variable TORPOR_CLIENTS_AUTH is set: the SDK then has the root's access key."""
    return ("--auth",) if os.environ.get("TORPOR_CLIENTS_AUTH") else ()


def close(numbers: Any, expected: list[float], tolerance: float = 1e-3) -> None:
    """Fail unless these are the numbers expected."""
    found = [float(number) for number in numbers]
    assert len(found) == len(expected), f"{found} instead of {expected}"
    assert all(abs(a - b) < tolerance for a, b in zip(found, expected, strict=True)), f"{found} instead of {expected}"


def _binaries() -> Path:
    parser = argparse.ArgumentParser(description="Runs against an endpoint of its own, and ends it.")
    parser.add_argument("--torpor", type=Path, default=HERE.parents[2] / ".venv" / "bin", help="Where `torpor` is.")
    found: Path = parser.parse_args().torpor
    return found.absolute()


def _exported(shell: str) -> dict[str, str]:
    """What these `export NAME=value` lines set."""
    words = shlex.split(shell)
    return dict(word.split("=", 1) for word in words if "=" in word)


@contextmanager
def _metadata_kept() -> Iterator[None]:
    """The one file outside the temporary folder is as it was before, once the block ends."""
    before = METADATA.read_bytes() if METADATA.exists() else None
    try:
        yield
    finally:
        if before is not None:
            METADATA.write_bytes(before)
        else:
            METADATA.unlink(missing_ok=True)
