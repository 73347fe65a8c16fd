"""A request that one worker of a script answers is answered also where another worker ends meanwhile, in each mode."""

import os
from contextlib import suppress
from pathlib import Path

import pytest

from tests.container.helpers.contract_platform import Platform
from tests.container.running.test_retry import MODES, placed
from tests.helpers.waiting import until
from torpor_container.processes.zygote_client import ZygoteClient

WORKER = """
import os
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept):
    if body == "end":
        os._exit(3)
    if body:
        open(str(body) + ".begun", "w").close()
        return open(str(body)).read(), "text/plain"
    return "here", "text/plain"
"""


@pytest.mark.parametrize("mode", MODES)
def test_a_worker_that_ends_takes_no_answer_of_another_worker_with_it(
    tmp_path: Path, zygote: ZygoteClient, mode: str
) -> None:
    placed(tmp_path, WORKER)
    os.mkfifo(pipe := tmp_path / "pipe")
    settings = {name: value.format(folder=tmp_path) for name, value in MODES[mode].items()}
    settings |= {
        "TORPOR_WARM_PARENT": str(zygote.path),
        "SAGEMAKER_MODEL_SERVER_WORKERS": "2",
        "TORPOR_SCRIPT_BOX": "false",
        "TORPOR_VCPU": "4",
    }
    headers = {"Content-Type": "text/csv", "X-Amzn-SageMaker-Target-Model": "a.tar.gz"}
    path = "/models/a/invoke" if mode == "contract" else "/invocations"
    with Platform(tmp_path, lambda: None, **settings) as platform:
        if mode == "contract":
            platform.load("a", str(tmp_path / "model"))
        assert platform.request("POST", path, b"", headers).body == b"here"
        slow = platform.sent("POST", path, bytes(pipe), headers)
        until((tmp_path / "pipe.begun").exists)
        assert platform.request("POST", path, b"end", headers).status == 500
        after = platform.sent("POST", path, b"", headers)
        for _ in range(100):  # the instance may unload the script meanwhile
            platform.get("/ping")
        with suppress(OSError):  # no worker reads any more
            written = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
            os.write(written, b"slow")
            os.close(written)
        answer = slow.result(30.0)
        assert (answer.status, answer.body) == (200, b"slow")
        assert after.result(30.0).body == b"here"
