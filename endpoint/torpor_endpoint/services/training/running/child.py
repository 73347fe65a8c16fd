"""Turns a forked child into a training script: sets its output and its folder, and executes the script."""

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
"""The oom_score_adj, of at most 1,000: out of memory, the kernel kills a training script before an instance."""


def start(arguments: Mapping[str, Any], descriptors: list[int]) -> NoReturn:
    """Execute the script. `launch` names a file: arguments and environment may be too long for a job's message."""
    launch = json.loads(Path(arguments["launch"]).read_text())
    (output,) = descriptors
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    for ignored in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):  # by Python; a program would inherit that
        signal.signal(ignored, signal.SIG_DFL)
    with suppress(OSError):  # not Linux
        Path("/proc/self/oom_score_adj").write_text(str(DISPENSABLE))
    os.chdir(launch["folder"])
    _show_paths(Path(launch["folder"]))
    os.execve(launch["arguments"][0], launch["arguments"], {**os.environ, **launch["environment"], **_modules(launch)})


def _show_paths(code: Path) -> None:
    """Show the job's folder at /opt/ml if the script names that path and the machine allows it. If it does not, the
    log says why."""
    if any(b"/opt/ml" in path.read_bytes() for path in code.rglob("*.py") if path.is_file()):
        try:
            bind_mounts({"/opt/ml": code.parent})
        except NoNamespace as error:
            os.write(2, f"/opt/ml, which the script names, is not there: {error}. Use the SM_* variables.\n".encode())


def _modules(launch: Mapping[str, Any]) -> dict[str, str]:
    """PYTHONPATH: the script's folder, the endpoint's own path, and stand-ins for the toolkits of AWS's images, unless
    a toolkit is installed, which the stand-ins would hide."""
    paths = [launch["folder"], launch["environment"].get("PYTHONPATH"), os.environ.get("PYTHONPATH")]
    if not any(map(find_spec, toolkits.NAMES)):
        paths.append(toolkits.FOLDER)
    return {"PYTHONPATH": os.pathsep.join(path for path in paths if path)}
