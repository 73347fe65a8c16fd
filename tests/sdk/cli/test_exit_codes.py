"""Every command ends in a code of one table, with one line on standard error."""

from pathlib import Path

import pytest
from botocore.exceptions import EndpointConnectionError
from typer.main import get_group
from typer.testing import CliRunner

from torpor.cli import app
from torpor.cli.exit_codes import MEANINGS, ExitCode, UsageRefused, exit_code
from torpor.errors import EndpointUnreachable, NotTorpor, TorporError

COMMANDS = get_group(app).commands
NOWHERE = ("--url", "http://127.0.0.1:9")
FAULTS: dict[str, tuple[tuple[str, ...], ExitCode]] = {
    "up": (("--port", "0", "--log-level", "nope"), ExitCode.USAGE),
    "control": (("--port", "0", "--log-level", "nope"), ExitCode.USAGE),
    "env": (("--sagemaker", *NOWHERE), ExitCode.UNREACHABLE),
    "demo": (("--nope",), ExitCode.USAGE),
    "router": (("--port", "0", "--control", "nope"), ExitCode.USAGE),
    "conformance": (("--url", "https://127.0.0.1:1"), ExitCode.USAGE),
    "deploy": (("s3://a/b/", "--name", "c", *NOWHERE), ExitCode.UNREACHABLE),
    "undeploy": (("a", *NOWHERE), ExitCode.UNREACHABLE),
    "rollout": (("a", "--to", "b", *NOWHERE), ExitCode.UNREACHABLE),
    "cp": (("nowhere.onnx", "s3://a/b/", *NOWHERE), ExitCode.FAILED),
    "invoke": (("a", "--body", "1", *NOWHERE), ExitCode.UNREACHABLE),
    "async": (("show", "a", *NOWHERE), ExitCode.UNREACHABLE),
    "ls": (NOWHERE, ExitCode.UNREACHABLE),
    "top": (("--once", *NOWHERE), ExitCode.UNREACHABLE),
    "metrics": (NOWHERE, ExitCode.UNREACHABLE),
    "why": (("a", *NOWHERE), ExitCode.UNREACHABLE),
    "why-denied": (("--last", *NOWHERE), ExitCode.UNREACHABLE),
    "reload": (("a", *NOWHERE), ExitCode.UNREACHABLE),
    "certificates": (NOWHERE, ExitCode.UNREACHABLE),
    "unload": (("a", *NOWHERE), ExitCode.UNREACHABLE),
    "versions": (("a", *NOWHERE), ExitCode.UNREACHABLE),
    "label": (("a", "stable=1", *NOWHERE), ExitCode.UNREACHABLE),
    "cold-starts": (NOWHERE, ExitCode.UNREACHABLE),
    "costs": (NOWHERE, ExitCode.UNREACHABLE),
    "ledger": (("copy.sqlite", *NOWHERE), ExitCode.UNREACHABLE),
    "prices": (("update", "nowhere.json"), ExitCode.FAILED),
    "transform": (("ls", *NOWHERE), ExitCode.UNREACHABLE),
    "logs": (NOWHERE, ExitCode.UNREACHABLE),
    "replay": (("calls.csv", "--body", "a", *NOWHERE), ExitCode.UNREACHABLE),
    "simulate": (("nowhere.csv",), ExitCode.FAILED),
    "confirm": (("nowhere.json", "--models", "a", "--body", "b"), ExitCode.FAILED),
    "drift": (("nowhere", "--out", "out"), ExitCode.FAILED),
    "profile": (("digits", "--data", "nowhere.csv", *NOWHERE), ExitCode.FAILED),
    "tune": (("nowhere.csv", "--slo-ms", "9"), ExitCode.FAILED),
    "plan": (("nowhere.csv", "--slo-ms", "9"), ExitCode.FAILED),
}
"""A fault of each command, and how it ends."""


def test_each_command_has_a_fault_here() -> None:
    assert FAULTS.keys() == COMMANDS.keys()


@pytest.mark.parametrize("command", FAULTS)
def test_a_fault_is_one_line_with_its_code(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    arguments, code = FAULTS[command]
    done = CliRunner().invoke(app, [command, *arguments])
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (code, "", 1)
    assert done.stderr.startswith("torpor: ")


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unknown_option_is_one_line_that_names_the_help(command: str) -> None:
    done = CliRunner().invoke(app, [command, "--zzzz"], prog_name="torpor")
    assert (done.exit_code, done.stdout) == (ExitCode.USAGE, "")
    assert done.stderr == f"torpor: No such option: --zzzz. See `torpor {command} --help`\n"


def test_an_unknown_command_is_one_line() -> None:
    done = CliRunner().invoke(app, ["deply"], prog_name="torpor")
    assert (done.exit_code, done.stderr.count("\n")) == (ExitCode.USAGE, 1)
    assert done.stderr.endswith("See `torpor --help`\n")


def test_each_code_has_its_meaning() -> None:
    assert list(MEANINGS) == list(ExitCode)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (TorporError("a"), ExitCode.FAILED),
        (PermissionError("a"), ExitCode.FAILED),
        (UsageRefused("a"), ExitCode.USAGE),
        (EndpointUnreachable("http://a"), ExitCode.UNREACHABLE),
        (NotTorpor("http://a"), ExitCode.UNREACHABLE),
        (EndpointConnectionError(endpoint_url="http://a"), ExitCode.UNREACHABLE),
        (KeyboardInterrupt(), ExitCode.INTERRUPTED),
    ],
)
def test_the_code_of_an_error(error: BaseException, code: ExitCode) -> None:
    assert exit_code(error) is code
