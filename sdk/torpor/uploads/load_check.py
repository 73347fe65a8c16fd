"""Asks a process of its own, with the container's frameworks, whether artifacts would load.

A file that ends the process is refused too, and the rest is checked in another one.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from torpor.extras import require

INSPECTION = (sys.executable, "-m", "torpor_container.inspection")
ENDED = "the process that loaded it ended with {code}: an instance would end too"


def refusals(
    artifacts: Sequence[Path], checked: Callable[[Path], None] = lambda path: None, command: Sequence[str] = INSPECTION
) -> Mapping[Path, str]:
    """Why no instance could load these artifacts: the reason by path, of those that are refused.

    `checked` is called after each. Raises MissingExtra where the container's packages are not installed.
    """
    require("the check of models (--no-check leaves it out)", "container")
    found: dict[Path, str] = {}
    left = list(artifacts)
    while left:
        left = _refuse(left, found, checked, command)
    return found


def _refuse(
    artifacts: Sequence[Path], found: dict[Path, str], checked: Callable[[Path], None], command: Sequence[str]
) -> list[Path]:
    """Add the refusals of one process, and return what is left if it ended early."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number, path in enumerate(artifacts):
            try:
                print(path.absolute(), file=process.stdin, flush=True)
                answer = process.stdout.readline()
            except BrokenPipeError:
                answer = ""
            reason = json.loads(answer)["refused"] if answer else ENDED.format(code=process.wait())
            if reason is not None:
                found[path] = reason
            checked(path)
            if not answer:
                return list(artifacts[number + 1 :])
        process.stdin.close()
    return []
