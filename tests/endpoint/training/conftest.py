"""One warm parent for all training tests, as an endpoint has one."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from training_site import FORGOTTEN, Site

from torpor_container.warm import WarmParent


@pytest.fixture(scope="session")
def warm_parent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmParent]:
    path = tmp_path_factory.mktemp("warm") / "s"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(64)
        command = [sys.executable, "-m", "torpor_container.zygote", str(listener.fileno())]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            pass_fds=[listener.fileno()],
            start_new_session=True,
            env={**os.environ, f"{FORGOTTEN}KEY": "secret"},
        )
    yield WarmParent(path)
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(10.0) == 0


@pytest.fixture
def site(tmp_path: Path, warm_parent: WarmParent) -> Site:
    return Site(tmp_path, warm_parent)
