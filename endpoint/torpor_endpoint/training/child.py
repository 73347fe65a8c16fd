"""What a forked child does to become a training script: it takes its output and its folder, and is replaced by it."""

import json
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

DISPENSABLE = 500
"""Of 1,000: when memory runs out, the kernel ends a training script before an instance or the endpoint."""


def start(arguments: Mapping[str, Any], descriptors: list[int]) -> NoReturn:
    """`launch` names a file, for arguments and environment may be more than a job's message holds."""
    launch = json.loads(Path(arguments["launch"]).read_text())
    (output,) = descriptors
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    for ignored in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):  # Python's own way, which a program would inherit
        signal.signal(ignored, signal.SIG_DFL)
    with suppress(OSError):  # not Linux
        Path("/proc/self/oom_score_adj").write_text(str(DISPENSABLE))
    os.chdir(launch["folder"])
    os.execve(launch["arguments"][0], launch["arguments"], {**os.environ, **launch["environment"], **_modules(launch)})


def _modules(launch: Mapping[str, Any]) -> dict[str, str]:
    """The script's folder, and where the endpoint itself finds its modules."""
    paths = [launch["folder"], launch["environment"].get("PYTHONPATH"), os.environ.get("PYTHONPATH")]
    return {"PYTHONPATH": os.pathsep.join(path for path in paths if path)}
