"""How the start of an endpoint or of a router is refused: with one line that says why."""

import logging
import sys
from collections.abc import Iterable
from typing import NoReturn

from torpor_account.log_lines import single_line
from torpor_account.port import PortOptions


class CannotStart(Exception):
    """An endpoint or a router cannot start now. The message says why, and what to do."""

    exit_code = 1


class BadOption(CannotStart):
    """It cannot be started with these options. The message names the one at fault."""

    exit_code = 2


def warn(options: PortOptions, warnings: Iterable[str]) -> None:
    """Print warnings before the start, in the form of the log."""
    for warning in warnings:
        line = single_line(logging.WARNING, warning) if options.log_format == "json" else warning
        print(line, file=sys.stderr, flush=True)


def end(options: PortOptions, error: CannotStart) -> NoReturn:
    """End this process with one line that says why it cannot start."""
    warn(options, (f"torpor: {' '.join(str(error).split())}",))
    sys.exit(error.exit_code)
