"""`python -m benchmarks.on_device.instance`: a container whose device is simulated where SIMULATED is set, in bytes.

Without that variable it is `torpor-container serve`. The class starts one and calls it.
"""

import http.client
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.ports import free_port

READY_WITHIN_S = 60.0
SIMULATED = "BENCHMARK_SIMULATED_BYTES"


def serve() -> None:
    from torpor_container.__main__ import _bind
    from torpor_container.app import InstanceProcess
    from torpor_container.devices.simulated_device import SimulatedDevice
    from torpor_container.http.gunicorn_server import GunicornServer
    from torpor_container.http.server import ServerOptions
    from torpor_container.settings import Settings

    settings = Settings.read()
    device = SimulatedDevice(int(os.environ[SIMULATED]))
    sys.argv = sys.argv[:1]
    GunicornServer(lambda: InstanceProcess(settings, device=device).app(), ServerOptions(_bind(settings))).run()


class Instance:
    """One container in a process of its own. Use it with `with`."""

    def __init__(self, folder: Path, simulated: bool, log: Path, **settings: str) -> None:
        self.port = free_port()
        self._log = log.open("ab")
        environment = {
            **os.environ,
            "SAGEMAKER_MULTI_MODEL": "true",
            "SAGEMAKER_BIND_TO_PORT": str(self.port),
            "SAGEMAKER_BASE_DIR": str(folder),
            "TORPOR_TRIALS": "false",
            **settings,
        }
        command = [sys.executable, "-m", "torpor_container", "serve"]
        if simulated and settings.get("TORPOR_DEVICE", "cpu") != "cpu":
            environment[SIMULATED] = str(16 * 1024**3)
            command = [sys.executable, "-m", "benchmarks.on_device.instance"]
        self._process = subprocess.Popen(command, env=environment, stdout=self._log, stderr=self._log)

    def __enter__(self) -> "Instance":
        until_s = time.monotonic() + READY_WITHIN_S
        while True:
            try:
                if self.request("GET", "/ping")[0] == 200:
                    return self
            except OSError:
                pass
            if self._process.poll() is not None or time.monotonic() > until_s:
                self.__exit__()
                raise RuntimeError(f"the container did not start: see {self._log.name}")
            time.sleep(0.1)

    def __exit__(self, *error: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._log.close()

    def request(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> tuple[int, bytes, dict[str, str]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request(method, path, body, dict(headers or {}))
            answer = connection.getresponse()
            return answer.status, answer.read(), {name.lower(): value for name, value in answer.getheaders()}
        finally:
            connection.close()

    def state(self) -> Any:
        return json.loads(self.request("GET", "/_torpor/state")[1])

    def load(self, name: str, folder: Path) -> tuple[int, str]:
        """By the contract: LoadModel."""
        body = json.dumps({"model_name": name, "url": str(folder)}).encode()
        status, said, _ = self.request("POST", "/models", body, {"Content-Type": "application/json"})
        return status, said.decode(errors="replace")

    def crowd(
        self, targets: Sequence[str], body: bytes, content_type: str, lasts_s: float, callers: int
    ) -> dict[str, Any]:
        """So many callers call the models in turn, each over one connection. Times are in seconds."""
        took_s: list[float] = []
        failed: dict[str, int] = {}
        until_s = time.monotonic() + lasts_s

        def call(first: int) -> None:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
            number = first
            while time.monotonic() < until_s:
                headers = {
                    "Content-Type": content_type,
                    "X-Amzn-SageMaker-Target-Model": targets[number % len(targets)],
                }
                number += 1
                began_s = time.monotonic()
                connection.request("POST", "/invocations", body, headers)
                answer = connection.getresponse()
                said = answer.read()
                if answer.status == 200:
                    took_s.append(time.monotonic() - began_s)
                else:
                    told = f"{answer.status} {said[:120]!r}"
                    failed[told] = failed.get(told, 0) + 1
            connection.close()

        began_s = time.monotonic()
        threads = [threading.Thread(target=call, args=(first * 7,)) for first in range(callers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ordered, lasted_s = sorted(took_s), time.monotonic() - began_s
        if not ordered:
            return {"failed": failed}
        return {
            "per_s": len(ordered) / lasted_s,
            "p50_s": ordered[len(ordered) // 2],
            "p99_s": ordered[int(len(ordered) * 0.99)],
            "answers": len(ordered),
            "failed": failed,
        }


if __name__ == "__main__":
    serve()
