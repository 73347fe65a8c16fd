"""An endpoint that lives no longer than the process that started it: `python -m torpor.attached '{"port": …}'`.

Its standard input is the lifeline: a pipe of which only its owner has the other end. The owner may be killed in any
way; the kernel then closes the pipe, and sends SIGTERM here. No thread watches and nothing is polled, and, unlike
PR_SET_PDEATHSIG, it does not matter which of the owner's threads began it.
"""

import fcntl
import json
import os
import select
import signal
import sys
from pathlib import Path
from typing import Any

from torpor_endpoint.options import Options

LIFELINE = 0


def main() -> None:
    end_with(LIFELINE)
    options = read_options(sys.argv.pop(1))  # popped: gunicorn reads the command line too
    from torpor_endpoint.up import run

    run(options)


def end_with(lifeline: int) -> None:
    """Get SIGTERM when the other end of this pipe closes (Linux)."""
    if not sys.platform.startswith("linux"):
        return
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGTERM)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    closed_before, _, _ = select.select([lifeline], [], [], 0)
    if closed_before:
        sys.exit("the process that started this endpoint is gone")


def read_options(text: str) -> Options:
    """Options as JSON; the data folder as text."""
    values: dict[str, Any] = json.loads(text)
    return Options(**{**values, "data_dir": Path(values["data_dir"])})


if __name__ == "__main__":
    main()
