"""Runs an endpoint that ends with its starter: `python -m torpor.hosting.attached_endpoint '{"port": …}'`.

Its standard input is the lifeline: a pipe whose other end only the owner has. However the owner ends, the kernel closes
the pipe, and sends SIGTERM to this process. No thread has to watch the pipe. Unlike with PR_SET_PDEATHSIG, any thread
of the owner may start this process.
"""

import fcntl
import json
import os
import select
import shutil
import signal
import sys
from pathlib import Path
from typing import Any, get_type_hints

from torpor_endpoint.options import Options

LIFELINE = 0
PATHS = tuple(name for name, kind in get_type_hints(Options).items() if kind in (Path, Path | None))
"""The options that are paths."""
TEMPORARY = "--temporary"
"""The data folder is removed once the owner is gone."""


def main() -> None:
    temporary = TEMPORARY in sys.argv
    options = read_options(sys.argv[1])
    sys.argv = sys.argv[:1]  # gunicorn reads the command line too
    end_with(LIFELINE)
    from torpor_endpoint.starting.cannot_start import BadOption
    from torpor_endpoint.up import run

    pid = os.getpid()
    try:
        run(options)
    except BadOption as error:
        sys.exit(str(error))
    finally:  # gunicorn's worker, a fork of this process, runs this too
        if os.getpid() == pid and temporary and closed(LIFELINE):
            shutil.rmtree(options.data_dir, ignore_errors=True)


def end_with(lifeline: int) -> None:
    """Ask the kernel for SIGTERM when the other end of this pipe closes. Linux only."""
    if not sys.platform.startswith("linux"):
        return
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGTERM)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    if closed(lifeline):
        sys.exit("the process that started this endpoint is gone")


def closed(lifeline: int) -> bool:
    """Whether the other end is closed. Nobody writes to the pipe, so it is readable only then."""
    readable, _, _ = select.select([lifeline], [], [], 0)
    return bool(readable)


def read_options(text: str) -> Options:
    """Read the options from JSON, in which paths are text."""
    values: dict[str, Any] = json.loads(text)
    paths = {name: Path(values[name]) for name in PATHS if values.get(name) is not None}
    return Options(**{**values, **paths})


if __name__ == "__main__":
    main()
