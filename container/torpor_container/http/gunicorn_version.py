"""Refuses to start on a version of gunicorn that this package does not know.

Torpor uses parts of gunicorn that are not public (`gunicorn_internals` lists them), and any release may change those.
An unknown version fails here, before anything is served, and not later in the midst of a request.

This module imports nothing that serves: the arbiter, which stays small, checks too.
"""

import re

import gunicorn

KNOWN_FROM = (27, 0, 1)
KNOWN_BEFORE = (27, 1)
"""The known versions: from the first of these on, and below the second. `pyproject.toml` names the same."""

REQUIREMENT = f"gunicorn>={'.'.join(map(str, KNOWN_FROM))},<{'.'.join(map(str, KNOWN_BEFORE))}"


class UnknownGunicorn(SystemExit):
    """gunicorn has a version that Torpor does not know. Where nobody catches it, the process prints it and ends."""


def check_version(installed: str = gunicorn.__version__) -> None:
    """Raises UnknownGunicorn unless `installed` is a known version."""
    numbers = tuple(map(int, re.findall("[0-9]+", installed)))
    if not KNOWN_FROM <= numbers < KNOWN_BEFORE:
        raise UnknownGunicorn(
            f"gunicorn {installed} is installed, and Torpor does not know it: Torpor uses parts of gunicorn that are "
            f"not public, as they are in {REQUIREMENT}. Install a known version: pip install '{REQUIREMENT}'"
        )
