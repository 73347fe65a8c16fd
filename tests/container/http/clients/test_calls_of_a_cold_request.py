"""How many calls one cold request makes in the instance's process, on all its threads: the same on every machine,
however busy."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from tests.endpoint.helpers.model_artifacts import ROW, booster, packed
from tests.helpers.call_windows import WINDOWS, Calls, CallWindows
from tests.helpers.processes import children
from tests.helpers.waiting import until
from torpor_container.formats.xgboost.written_bytes import EXTENSION

KNOWN = Calls(2540, 1305)
"""From S3, a content that the machine has tried under another key. This is what was counted, as are all of these, and a
thirtieth more: a window has a part of the change of form that its own request begins, and none of an earlier one.
Raise one only with the reason in the changelog."""
NEW = Calls(2790, 1440)
"""From S3, with its trial; the calls of the trial's own process are not among these."""
SOUND = Calls(2710, 1375)
"""From S3, a new content whose bytes show that it needs no trial. Its conversion begins behind the answer: on a busy
machine even the least of the windows has some of the conversion's calls."""
ON_DISK = Calls(1850, 985)
"""From the disk tier."""

FORM = "flat trees answer"


class Instance:
    """An instance that runs alone, and one connection to it."""

    def __init__(self, models: Path, connection: HTTPConnection, windows: CallWindows) -> None:
        self.models, self.windows = models, windows
        self._connection = connection
        self._called = ""

    def put(self, name: str, note: str = "", model: bytes = booster()) -> None:
        """A booster. Another note makes other content of it."""
        (self.models / name).write_bytes(packed({"model.json": model, "code/note.txt": note}))

    def check(self, bound: Calls, names: Iterator[str]) -> None:
        """Each window is the first call of one of these models."""
        self.windows.check(bound, 1, lambda: self.call(next(names)), rest=self.rest)

    def rest(self) -> None:
        """Wait until the model that was called last has the form that it keeps."""
        until(lambda: any(FORM in one["reason"] for one in self._decisions() if one["model"] == self._called))

    def call(self, name: str) -> None:
        self._called = name
        self._post("/invocations", ROW, {"Content-Type": "text/csv", "X-Amzn-SageMaker-Target-Model": name})

    def unload(self, name: str) -> None:
        self._post("/_torpor/unload", b'{"model": "%s"}' % name.encode(), {})

    def _decisions(self) -> list[dict[str, Any]]:
        self._connection.request("GET", "/_torpor/state")
        found: list[dict[str, Any]] = json.load(self._connection.getresponse())["decisions"]
        return found

    def _post(self, path: str, body: bytes, headers: dict[str, str]) -> None:
        self._connection.request("POST", path, body, headers)
        answer = self._connection.getresponse()
        said = answer.read()
        assert answer.status == 200, said


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    folder = tmp_path_factory.mktemp("counted")
    windows, models = CallWindows(folder, threads=True), folder / "models"
    models.mkdir()
    settings = {
        "SAGEMAKER_MULTI_MODEL": "true",
        "SAGEMAKER_BASE_DIR": str(folder / "base"),
        "TORPOR_MODEL_SOURCE": f"file://{models}",
        "TORPOR_SOCKET": str(folder / "s"),
    }
    command = [sys.executable, "-m", "torpor_container", "serve"]
    with (folder / "log").open("wb") as log:
        environment = {**os.environ, **windows.variables, **settings}
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        until((folder / "s").exists)
        with closing(socket.socket(socket.AF_UNIX)) as line:
            until(lambda: line.connect_ex(str(folder / "s")) == 0)
            connection = HTTPConnection("instance")
            connection.sock = line
            here = Instance(models, connection, windows)
            here.put("first")
            here.call("first")
            [windows.pid] = children(process.pid)
            yield here
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def test_a_content_that_the_machine_knows(instance: Instance) -> None:
    for number in range(WINDOWS):
        instance.put(f"known-{number}")
    names = iter(f"known-{number}" for number in range(WINDOWS))
    instance.check(KNOWN, names)


def test_a_new_content(instance: Instance) -> None:
    model = booster().replace(b"{", b"{ ", 1)  # XGBoost writes no spaces
    for number in range(WINDOWS):
        instance.put(f"new-{number}", str(number), model=model)
    names = iter(f"new-{number}" for number in range(WINDOWS))
    instance.check(NEW, names)


@pytest.mark.skipif(EXTENSION is None, reason="the extension was not built: Python reads each tree")
def test_a_new_content_that_needs_no_trial(instance: Instance) -> None:
    for number in range(WINDOWS):
        instance.put(f"sound-{number}", str(number))
    names = iter(f"sound-{number}" for number in range(WINDOWS))
    instance.check(SOUND, names)


def test_a_model_on_disk(instance: Instance) -> None:
    windows = instance.windows
    found = []
    for _ in range(WINDOWS):
        instance.rest()
        instance.unload("first")
        found.append(windows.of(1, lambda: instance.call("first")))
        if found[-1].all <= ON_DISK.all and found[-1].python <= ON_DISK.python:
            return
    pytest.fail(f"of {WINDOWS} windows, the least has {min(found)}, and {ON_DISK} are allowed")
