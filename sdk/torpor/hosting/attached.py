"""An endpoint that lives no longer than the process that started it: `python -m torpor.hosting.attached '{"port": …}'`.

Its standard input is the lifeline: a pipe of which only its owner has the other end. The owner may be killed in any
way; the kernel then closes the pipe, and sends SIGTERM here. No thread watches and nothing is polled, and, unlike
PR_SET_PDEATHSIG, it does not matter which of the owner's threads began it.
"""

import fcntl
import json
import os
import select
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

from torpor_endpoint.options import Options

LIFELINE = 0
PATHS = ("data_dir", "images")
"""The options that are paths."""
TEMPORARY = "--temporary"
"""The data folder is nobody's once the owner is gone."""


def main() -> None:
    temporary = TEMPORARY in sys.argv
    options = read_options(sys.argv[1])
    sys.argv = sys.argv[:1]  # gunicorn reads the command line too
    end_with(LIFELINE)
    from torpor_endpoint.up import BadOption, run

    pid = os.getpid()
    try:
        run(options)
    except BadOption as error:
        sys.exit(str(error))
    finally:  # gunicorn's worker, a fork, passes here too
        if os.getpid() == pid and temporary and closed(LIFELINE):
            shutil.rmtree(options.data_dir, ignore_errors=True)


def end_with(lifeline: int) -> None:
    """Get SIGTERM when the other end of this pipe closes (Linux)."""
    if not sys.platform.startswith("linux"):
        return
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGTERM)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    if closed(lifeline):
        sys.exit("the process that started this endpoint is gone")


def closed(lifeline: int) -> bool:
    """Nothing is ever written to it, so it can be read from only at its end."""
    readable, _, _ = select.select([lifeline], [], [], 0)
    return bool(readable)


def read_options(text: str) -> Options:
    """Options as JSON; paths as text."""
    values: dict[str, Any] = json.loads(text)
    paths = {name: Path(values[name]) for name in PATHS if values.get(name) is not None}
    return Options(**{**values, **paths})


if __name__ == "__main__":
    main()
