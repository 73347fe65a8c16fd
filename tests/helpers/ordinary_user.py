"""Runs a command as a user who is not root, where the tests run as root.

That user can reach the interpreter and this checkout, wherever they lie, by a view of the file system of its own.
"""

import sys
from pathlib import Path

USER = 1234
ROOT = Path(__file__).parents[2]

PROGRAM = """
import os, sys
from contextlib import ExitStack
from pathlib import Path
from torpor_container.processes.namespaces import opened, own_view
user, checkout, *command = sys.argv[1:]
places = {Path(path) for path in (sys.prefix, sys.base_prefix, checkout)}
closed = {next((up for up in reversed(place.parents) if not up.stat().st_mode & 1), None) for place in places} - {None}
with own_view() as view, ExitStack() as held:
    left = [(place, opened(place, held)) for place in sorted(places)]
    for folder in closed:
        view.memory(str(folder), 0, "mode=755")
    for place, descriptor in left:
        if any(folder in place.parents for folder in closed):
            view.bind(descriptor, str(place))
os.setgroups([])
os.setgid(int(user))
os.setuid(int(user))
os.execv(command[0], command)
"""


def as_ordinary_user(*command: str) -> list[str]:
    """The command as it is run by that user. Its first word is a path."""
    return [sys.executable, "-c", PROGRAM, str(USER), str(ROOT), *command]
