"""Turns a forked child into the script of a job: sets its output and its folder, and executes the script."""

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
"""The oom_score_adj, of at most 1,000: out of memory, the kernel kills the script of a job before an instance."""


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
    command = _with_paths(launch)
    os.execve(command[0], command, {**os.environ, **launch["environment"], **_modules(launch)})


def _with_paths(launch: Mapping[str, Any]) -> list[str]:
    """Show the job's folder at /opt/ml if it always is, or the script names that path, and the machine allows it. If
    it does not, the log says why, and the arguments have the folder's own path. Returns the arguments."""
    arguments, root = list(launch["arguments"]), Path(launch["opt_ml"])
    scripts = (path.read_bytes() for path in Path(launch["folder"]).rglob("*.py") if path.is_file())
    if launch["always"] or any(b"/opt/ml" in source for source in scripts):
        try:
            bind_mounts({"/opt/ml": root})
        except NoNamespace as error:
            os.write(2, f"/opt/ml, which the script names, is not there: {error}. Use the SM_* variables.\n".encode())
            return [argument.replace("/opt/ml", str(root)) for argument in arguments]
    return arguments


def _modules(launch: Mapping[str, Any]) -> dict[str, str]:
    """PYTHONPATH: the script's folder, the endpoint's own path, and stand-ins for the toolkits of AWS's images, unless
    a toolkit is installed, which the stand-ins would hide."""
    paths = [launch["folder"], launch["environment"].get("PYTHONPATH"), os.environ.get("PYTHONPATH")]
    if not any(map(find_spec, toolkits.NAMES)):
        paths.append(toolkits.FOLDER)
    return {"PYTHONPATH": os.pathsep.join(path for path in paths if path)}
