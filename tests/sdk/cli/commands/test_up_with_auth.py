"""`torpor up --auth` shows the root credential once, and `torpor env` and the other commands find it."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from botocore.exceptions import ClientError
from typer.testing import CliRunner

from torpor.calling.caller_keys import UNVERIFIED, AccessKeys, of_data_dir, of_environment
from torpor.calling.connection import EndpointConnection
from torpor.cli import app
from torpor.errors import EndpointRefused, ValueRefused

EXPORT = re.compile(r"export (\w+)=(\S+)")


@contextmanager
def up(data_dir: Path) -> Iterator[str]:
    """What `torpor up --auth` prints, while it runs."""
    command = [sys.executable, "-m", "torpor", "up", "--auth", "--port", "0", "--data-dir", str(data_dir)]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=clean) as running:
        assert running.stdout is not None
        printed = ""
        while not printed.endswith("\n") or "# " not in printed:
            printed += running.stdout.readline()
        yield printed
        running.send_signal(signal.SIGTERM)
        assert running.wait(30) == 0


def test_the_root_credential_is_shown_once_and_found_by_the_commands(tmp_path: Path) -> None:
    with up(tmp_path) as printed:
        shown = dict(EXPORT.findall(printed))
        assert "This is the new root credential." in printed
        assert of_data_dir(tmp_path) == of_environment(shown)
        url = shown["AWS_ENDPOINT_URL"]
        check_commands(url, tmp_path, shown)
    with up(tmp_path) as printed:
        assert "AWS_ACCESS_KEY_ID" not in dict(EXPORT.findall(printed))
        assert f'eval "$(torpor env --data-dir {tmp_path})"' in printed


def check_commands(url: str, data_dir: Path, shown: Mapping[str, str]) -> None:
    def run(*arguments: str, **variables: str) -> tuple[int, str]:
        unset = dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL"))
        done = CliRunner().invoke(app, list(arguments), env={**unset, **variables})
        return done.exit_code, done.output

    code, printed = run("env", "--url", url, "--data-dir", str(data_dir))
    assert (code, dict(EXPORT.findall(printed))["AWS_ACCESS_KEY_ID"]) == (0, shown["AWS_ACCESS_KEY_ID"])
    code, printed = run("env", "--url", url, "--data-dir", str(data_dir / "none"))
    assert code == 1
    assert "verifies its callers" in " ".join(printed.split())
    assert run("ls", **shown)[0] == 0
    assert run("ls", AWS_ENDPOINT_URL=url)[0] == 1
    signed = EndpointConnection(url, keys=AccessKeys(shown["AWS_ACCESS_KEY_ID"], shown["AWS_SECRET_ACCESS_KEY"]))
    assert signed.json_page("endpoints") == {"endpoints": []}
    with pytest.raises(EndpointRefused, match="Missing Authentication Token"):
        EndpointConnection(url).page("endpoints")
    with pytest.raises(ClientError, match="UnrecognizedClient"):
        EndpointConnection(url).client("sagemaker").list_models()
    assert signed.client("sagemaker").list_models()["Models"] == []


def test_keys_of_the_environment_are_those_for_an_endpoint_of_torpor() -> None:
    keys = {"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "t"}
    assert of_environment(keys) is None  # they may be AWS's own
    assert of_environment({**keys, "AWS_ENDPOINT_URL": "http://127.0.0.1:4700"}) == AccessKeys("id", "secret", "t")
    assert UNVERIFIED.variables == {"AWS_ACCESS_KEY_ID": "torpor", "AWS_SECRET_ACCESS_KEY": "torpor"}


def test_a_file_without_a_credential_is_no_reason_to_fall_silent(tmp_path: Path) -> None:
    assert of_data_dir(tmp_path) is None
    (tmp_path / "credentials").write_text("[default]\n")
    with pytest.raises(ValueRefused, match="no credential"):
        of_data_dir(tmp_path)
