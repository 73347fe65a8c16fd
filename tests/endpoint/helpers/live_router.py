"""A router in a process of its own, which follows the control of a live endpoint."""

import json
import os
import re
import ssl
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from tests.helpers.forked_starts.starting import start
from tests.helpers.kill_together import kill_together
from tests.helpers.waiting import soon

READY = re.compile(r"ASGI server listening on http://127.0.0.1:(\d+)")
NO_VARIABLES: Mapping[str, str] = {}


class LiveRouter:
    """`python -m torpor_endpoint.router` on a free port. `options` are its command line's, `keys` are variables."""

    def __init__(self, control: str, log: Path, keys: Mapping[str, str] = NO_VARIABLES, *options: str) -> None:
        self._log = log
        self._secure = any(option.startswith("--tls-cert") for option in options)
        command = [sys.executable, "-m", "torpor_endpoint.router", "--control", control, "--port", "0"]
        with log.open("ab") as output:
            self.process = start([*command, "--log-level", "info", *options], output, env={**os.environ, **keys})
        if not soon(lambda: READY.search(log.read_text()) or self.process.poll() is not None, within_s=60):
            self.kill()
        if self.process.poll() is not None:
            raise AssertionError(log.read_text())

    @property
    def url(self) -> str:
        found = READY.search(self._log.read_text())
        assert found is not None
        return f"{'https' if self._secure else 'http'}://127.0.0.1:{found[1]}"

    def page(self, name: str) -> dict[str, Any]:
        """One of its pages. Its certificate is not verified."""
        unverified = ssl._create_unverified_context() if self._secure else None
        with urlopen(f"{self.url}/_torpor/{name}", timeout=60, context=unverified) as answer:
            page: dict[str, Any] = json.load(answer)
        return page

    def state(self) -> dict[str, Any]:
        return self.page("router")

    def kill(self) -> None:
        """SIGKILL to the process and its worker."""
        pid = self.process.pid
        workers = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        kill_together(pid, [*map(int, workers)])
        self.process.wait()

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            assert self.process.wait(30) == 0
