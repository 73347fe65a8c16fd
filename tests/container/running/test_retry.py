"""A request beside others that end the model's process is still answered, in each mode."""

import asyncio
import os
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.container.helpers.contract_platform import Platform
from tests.container.helpers.script_processes import write_script
from torpor_container.errors import ModelDied, NotCalled
from torpor_container.invocation import Reply
from torpor_container.processes.zygote_client import ZygoteClient
from torpor_container.running.retry import retry_until_called

ENDS = """
import os
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept):
    if body:
        open(str(body)).read()
        os._exit(3)
    return "here", "text/plain"
"""
"""It ends once somebody has written to the pipe that the body names."""

MODES: Mapping[str, dict[str, str]] = {
    "contract": {},
    "kept": {"TORPOR_MODEL_SOURCE": "file://{folder}"},
    "single": {"SAGEMAKER_MULTI_MODEL": "false"},
}


def placed(folder: Path, source: str = ENDS) -> None:
    """The model where each of the modes looks for it."""
    script = write_script(folder / "model", source)
    with tarfile.open(folder / "a.tar.gz", "w:gz") as archive:
        archive.add(script, "inference.py")


@pytest.mark.parametrize("mode", MODES)
def test_a_request_among_others_that_end_the_script_is_answered(
    tmp_path: Path, zygote: ZygoteClient, mode: str
) -> None:
    placed(tmp_path)
    os.mkfifo(pipe := tmp_path / "pipe")
    settings = {name: value.format(folder=tmp_path) for name, value in MODES[mode].items()}
    settings["TORPOR_WARM_PARENT"] = str(zygote.path)
    headers = {"Content-Type": "text/csv", "X-Amzn-SageMaker-Target-Model": "a.tar.gz"}
    path = "/models/a/invoke" if mode == "contract" else "/invocations"
    with Platform(tmp_path, lambda: None, **settings) as platform:
        if mode == "contract":
            platform.load("a", str(tmp_path / "model"))
        assert platform.request("POST", path, b"", headers).body == b"here"
        bodies = [bytes(pipe), leave := os.devnull.encode(), b"", leave]
        answers = [platform.sent("POST", path, body, headers) for body in bodies]
        pipe.write_text("go")
        assert [answer.result(30.0).status for answer in answers] == [500, 500, 200, 500]


def test_retries_of_a_process_that_always_ends_before_its_call_stop_after_a_time() -> None:
    tries: list[int] = []

    async def call() -> Reply:
        await asyncio.sleep(0)
        tries.append(1)
        raise NotCalled(3)

    with pytest.raises(ModelDied, match=r"again and again for 0.05 s, .* \(the model's process ended: exit code 3\)"):
        asyncio.run(retry_until_called(call, 0.05))
    assert len(tries) > 2
