"""What a forked child does to become a training script: it takes its output and its folder, and is replaced by it."""

import json
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

from torpor_container.formats.script import toolkits
from torpor_container.processes.namespaces import NoNamespace, bind_mounts

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
    _show_paths(Path(launch["folder"]))
    os.execve(launch["arguments"][0], launch["arguments"], {**os.environ, **launch["environment"], **_modules(launch)})


def _show_paths(code: Path) -> None:
    """Where the script has paths below /opt/ml written into it, it finds its job's folder there, if the machine allows
    that; else it starts without, and the log says why."""
    if any(b"/opt/ml" in path.read_bytes() for path in code.rglob("*.py") if path.is_file()):
        try:
            bind_mounts({"/opt/ml": code.parent})
        except NoNamespace as error:
            os.write(2, f"/opt/ml, which the script names, is not there: {error}. Use the SM_* variables.\n".encode())


def _modules(launch: Mapping[str, Any]) -> dict[str, str]:
    """The script's folder, where the endpoint itself finds its modules, and stand-ins for the toolkits of AWS's images,
    unless one of those is installed: what is on this path would win over it."""
    paths = [launch["folder"], launch["environment"].get("PYTHONPATH"), os.environ.get("PYTHONPATH")]
    if not any(map(find_spec, toolkits.NAMES)):
        paths.append(toolkits.FOLDER)
    return {"PYTHONPATH": os.pathsep.join(path for path in paths if path)}
