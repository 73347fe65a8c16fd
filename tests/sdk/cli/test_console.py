"""Errors as one line, in words of what to do next."""

import errno
import os

import pytest
import typer
from botocore.exceptions import ClientError
from typer.testing import CliRunner

from torpor.cli.console import PlainErrors, api_line, file_line
from torpor.cli.exit_codes import ExitCode


def ended(error: BaseException, **environment: str) -> tuple[int, str]:
    """How a command ends in which this error is raised."""
    app = typer.Typer(cls=PlainErrors, add_completion=False)

    @app.command()
    def fail() -> None:
        raise error

    @app.command()
    def other() -> None:
        pass

    done = CliRunner().invoke(app, ["fail"], env=environment)
    return done.exit_code, done.stderr


def refused(message: str) -> ClientError:
    return ClientError({"Error": {"Code": "ValidationException", "Message": message}}, "CreateEndpointConfig")


def test_an_interrupt_ends_with_the_shells_code() -> None:
    assert ended(KeyboardInterrupt()) == (ExitCode.INTERRUPTED, "torpor: interrupted\n")


def test_an_error_of_the_api_is_its_message_with_code_and_operation() -> None:
    assert ended(refused("No such\nmodel.")) == (
        ExitCode.FAILED,
        "torpor: No such model. (ValidationException of CreateEndpointConfig)\n",
    )


def test_a_list_of_all_values_is_cut_to_the_nearest() -> None:
    types = ", ".join(f"ml.m5.{number}xlarge" for number in range(60))
    line = api_line(refused(f"Value 'ml.m5.7xlarg' at 'instanceType' must satisfy enum value set: [{types}]"))
    assert "set: ml.m5.7xlarge, " in line
    assert "and 55 more" in line


@pytest.mark.parametrize(
    ("number", "line"),
    [
        (errno.EACCES, "a.csv: Permission denied: change its permissions, or name another"),
        (errno.ENOENT, "a.csv: No such file or directory: name another"),
        (errno.EISDIR, "a.csv: Is a directory"),
    ],
)
def test_a_fault_of_a_file_names_it(number: int, line: str) -> None:
    assert file_line(OSError(number, os.strerror(number), "a.csv")) == line


def test_colours_are_for_terminals_that_want_them() -> None:
    assert "\x1b[31m" in ended(OSError("a"), FORCE_COLOR="1", TERM="xterm")[1]
    assert ended(OSError("a"), FORCE_COLOR="1", NO_COLOR="1", TERM="xterm")[1] == "torpor: a\n"
