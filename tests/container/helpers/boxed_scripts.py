"""A script that does what its requests say, in a box or without one, as an instance runs it."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from tests.container.helpers.script_processes import write_script
from torpor_container.errors import ContainerError
from torpor_container.formats import Conventions
from torpor_container.invocation import Invocation
from torpor_container.measuring.server_timing import Timing
from torpor_container.processes.memory_budget import MemoryBudget
from torpor_container.processes.zygote_access import ZygoteAccess
from torpor_container.processes.zygote_client import ZygoteClient
from torpor_container.running.scripts import Scripts
from torpor_container.settings import Settings

ON_DEMAND = """
import ctypes, os, resource, socket, subprocess, sys, tempfile, threading, time
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept):
    space = dict(globals())
    exec(compile(body, "request.py", "exec"), space)
    return str(space.get("out")), "text/plain"
"""


def answers(zygote: ZygoteClient, folder: Path, sources: Sequence[str], **settings: str) -> list[str]:
    """What one script answers: the text of `out` after each source, or its error's whole text.

    Its model's folder is `models/own` in the folder; beside it are `models/other`, a neighbour's, and `s3`.
    """
    return asyncio.run(told(zygote, folder, sources, **settings))


async def told(zygote: ZygoteClient, folder: Path, sources: Sequence[str], **settings: str) -> list[str]:
    """As `answers`, beside others in the same event loop."""
    model = folder / "models" / "own"
    given = {"SAGEMAKER_BASE_DIR": str(folder), "TORPOR_S3_FOLDER": str(folder / "s3"), **settings}
    read = Settings.read({"TORPOR_WARM_PARENT": str(zygote.path), "TORPOR_SCRIPT_NETWORK": "refuse", **given})
    memory, script = MemoryBudget(read.memory_bytes), write_script(model, ON_DEMAND)
    for name in ("s3/secret", "models/other/secret"):
        if not (folder / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text("secret")
    scripts = Scripts(read, memory, Conventions(), ZygoteAccess(str(zygote.path)), {"PATH": os.environ["PATH"]})
    runner = (await scripts.start(model, script)).runner
    answered = []
    try:
        for source in sources:
            try:
                invocation = Invocation(source.encode(), "text/plain")
                answered.append((await runner.invoke(invocation, 60.0, Timing(lambda: 0.0))).body.decode())
            except ContainerError as error:
                answered.append(f"{type(error).__name__}: {error}")
    finally:
        await runner.close()
    return answered
