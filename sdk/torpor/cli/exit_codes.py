"""The exit codes of every command, and which error ends with which. docs/reference/cli.md has the table."""

from collections.abc import Mapping
from enum import IntEnum

from torpor.errors import EndpointUnreachable, IsRouter, NotTorpor, ValueRefused


class ExitCode(IntEnum):
    """How a command ended."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    UNREACHABLE = 3
    NO_PLAN = 4
    TOO_BUSY = 5
    UNDECIDED = 6
    INTERRUPTED = 130


MEANINGS: Mapping[ExitCode, str] = {
    ExitCode.DONE: "The command did what it says.",
    ExitCode.FAILED: "It did not, and one line on standard error says why: an unknown endpoint or model, a file that"
    " cannot be read, a call that the endpoint or the model answered with an error, a rollout that was rolled back,"
    " a plan whose verdict is reversed live, a tuning of which no choice met the SLO live.",
    ExitCode.USAGE: "The command line is wrong: an unknown command or option, a missing argument, a value that is not"
    " allowed. Nothing was done.",
    ExitCode.UNREACHABLE: "No endpoint of Torpor answers at the URL, or a router does, which answers"
    " `torpor invoke` alone.",
    ExitCode.NO_PLAN: "`torpor plan` or `torpor tune` ran to its end, and nothing that it tried meets the SLO.",
    ExitCode.TOO_BUSY: "`torpor confirm` or `torpor tune --confirm` sent the requests, and the machine was too busy to"
    " say whether the forecast holds.",
    ExitCode.UNDECIDED: "`torpor confirm` found the goal met live and not by the forecast, or the other way;"
    " the forecast is at the goal's bound: times a tenth longer or shorter have the other verdict.",
    ExitCode.INTERRUPTED: "Ctrl-C ended it. `torpor replay` shows what was answered until then. `torpor top` and"
    " `torpor up` end with 0.",
}


class UsageRefused(ValueRefused):
    """A value on the command line is not allowed. The message names the option and says what it takes."""


def exit_code(error: BaseException) -> ExitCode:
    """The code with which a command ends for this error."""
    from botocore.exceptions import EndpointConnectionError

    if isinstance(error, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    if isinstance(error, EndpointUnreachable | IsRouter | NotTorpor | EndpointConnectionError):
        return ExitCode.UNREACHABLE
    return ExitCode.USAGE if isinstance(error, ValueRefused) else ExitCode.FAILED
