"""`torpor env --sagemaker`: the files that the SageMaker Python SDK reads, and their owner."""

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

import torpor
from torpor.cli import app
from torpor.cli.exit_codes import ExitCode
from torpor.cli.sagemaker_files import MARK, Identity, Outcome, config_path, put

ROLE = "arn:aws:iam::123456789012:role/TorporRole"
IDENTITY = Identity("123456789012", ROLE, "eu-west-1")
Run = Callable[..., Result]


@pytest.fixture
def run(endpoint: torpor.Local, tmp_path: Path) -> Run:
    """The command, pointed at the live endpoint and at a home of its own."""
    variables = {"AWS_ENDPOINT_URL": endpoint.url, "XDG_CONFIG_HOME": str(tmp_path)}
    metadata = str(tmp_path / "ml" / "metadata.json")
    return lambda *more: CliRunner().invoke(app, ["env", "--sagemaker", "--metadata", metadata, *more], env=variables)


def test_the_role_is_the_one_that_the_sdk_derives_from_the_caller() -> None:
    caller = {"Account": "210987654321", "Arn": "arn:aws-cn:sts::210987654321:assumed-role/Some/session/name"}
    identity = Identity.of(caller, "cn-north-1")
    assert identity.role == "arn:aws-cn:iam::210987654321:role/Some"
    assert identity.bucket == "sagemaker-cn-north-1-210987654321"


@pytest.mark.parametrize("caller", ["root", "user/ann"])
def test_who_is_no_role_passes_the_endpoints_own(caller: str) -> None:
    arn = f"arn:aws:iam::123456789012:{caller}"
    identity = Identity.of({"Account": "123456789012", "Arn": arn}, "us-east-1")
    assert identity.role == "arn:aws:iam::123456789012:role/TorporRole"


def test_the_config_names_bucket_and_roles_and_sends_no_telemetry() -> None:
    config = yaml.safe_load(IDENTITY.config)
    modules = config["SageMaker"].pop("PythonSDK")["Modules"]
    assert modules == {"Session": {"DefaultS3Bucket": "sagemaker-eu-west-1-123456789012"}, "TelemetryOptOut": True}
    assert config["SageMaker"] == {"Model": {"ExecutionRoleArn": ROLE}, "TrainingJob": {"RoleArn": ROLE}}
    assert config["SchemaVersion"] == "1.0"


def test_a_file_of_torpors_own_is_written_only_when_its_content_changes(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "down" / "file"
    assert [put(path, f"{MARK} 1"), put(path, f"{MARK} 1"), put(path, f"{MARK} 2")] == [
        Outcome.WRITTEN,
        Outcome.CURRENT,
        Outcome.WRITTEN,
    ]
    assert path.read_text() == f"{MARK} 2"
    assert list(path.parent.iterdir()) == [path]


@given(st.binary().filter(lambda content: MARK.encode() not in content))
def test_a_foreign_file_is_never_touched(content: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "file")
        path.write_bytes(content)
        assert put(path, IDENTITY.config) is Outcome.FOREIGN
        assert path.read_bytes() == content


def test_the_config_is_in_torpors_own_folder() -> None:
    assert config_path({"HOME": "/home/me"}) == Path("/home/me/.config/torpor/sagemaker.yaml")
    assert config_path({"HOME": "/home/me", "XDG_CONFIG_HOME": "/etc/me"}) == Path("/etc/me/torpor/sagemaker.yaml")


def test_standard_output_is_for_the_shell_alone(run: Run, endpoint: torpor.Local, tmp_path: Path) -> None:
    done = run()
    config = tmp_path / "torpor" / "sagemaker.yaml"
    assert all(line.startswith("export ") for line in done.stdout.splitlines())
    assert f"export AWS_ENDPOINT_URL={endpoint.url}" in done.stdout
    assert f"export SAGEMAKER_USER_CONFIG_OVERRIDE={config}" in done.stdout
    assert done.stderr.count(" is written") == 2
    assert json.loads((tmp_path / "ml" / "metadata.json").read_text())["ExecutionRoleArn"] == ROLE
    assert run().stderr.count(" is up to date") == 2


def test_foreign_files_are_left_and_named(run: Run, tmp_path: Path) -> None:
    theirs = tmp_path / "ml" / "metadata.json"
    theirs.parent.mkdir()
    theirs.write_text('{"ExecutionRoleArn": "arn:aws:iam::1:role/Studio"}')
    done = run()
    assert done.exit_code == 0
    assert f"torpor: {theirs} is not Torpor's, and stays as it is" in done.stderr
    assert "Studio" in theirs.read_text()


def test_a_role_file_that_cannot_be_written_is_replaced_by_advice(run: Run, tmp_path: Path) -> None:
    (tmp_path / "ml").write_text("a file, where a folder should be")
    done = run()
    assert done.exit_code == 0
    assert "export SAGEMAKER_USER_CONFIG_OVERRIDE=" in done.stdout
    assert "cannot be written" in done.stderr
    assert f'role = "{ROLE}"' in done.stderr


def test_a_config_that_can_not_be_written_is_one_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "torpor").write_text("a file, where a folder should be")
    done = run()
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "XDG_CONFIG_HOME" in done.stderr


def test_nothing_is_written_for_an_endpoint_that_does_not_answer(run: Run, tmp_path: Path) -> None:
    done = run("--url", "http://127.0.0.1:9")
    assert (done.exit_code, done.stdout) == (ExitCode.UNREACHABLE, "")
    assert "start one with `torpor up`" in done.stderr
    assert not list(tmp_path.iterdir())
