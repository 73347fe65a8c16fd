"""`torpor env` prints keys that the endpoint accepts, and nothing of another account stays in the shell."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.sdk.helpers.answering_endpoint import HEALTH, Asked, Told, answering
from torpor.calling.caller_keys import LEFT_OVER
from torpor.cli import app

ACCEPTED = ("AKIAROOT", "AKIAUSER")
IDENTITY = b"<GetCallerIdentityResponse><GetCallerIdentityResult/></GetCallerIdentityResponse>"
ERROR = b"<Error><Code>InvalidClientTokenId</Code><Message>It is not known.</Message></Error>"
REFUSED = b"<ErrorResponse>" + ERROR + b"</ErrorResponse>"
UNSET = dict.fromkeys(("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", *LEFT_OVER))


def verify(asked: Asked) -> Told:
    """What STS answers: it knows two keys."""
    known = asked.access_key in ACCEPTED and "x-amz-security-token" not in asked.headers
    return Told(200, IDENTITY) if known else Told(403, REFUSED)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """An endpoint that verifies its callers."""
    with answering(verify, {**HEALTH, "auth": "on"}) as found:
        yield found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return folder_of(tmp_path / "data", "AKIAROOT")


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    """A file of AWS's clients with the profile of another account."""
    path = tmp_path / "config"
    path.write_text("[profile foreign]\nregion = eu-west-1\n")
    return path


def folder_of(path: Path, key: str) -> Path:
    """A data folder with a root credential."""
    path.mkdir(exist_ok=True)
    (path / "credentials").write_text(f"[default]\naws_access_key_id = {key}\naws_secret_access_key = s\n")
    return path


def env(*arguments: str, **shell: str) -> Result:
    return CliRunner().invoke(app, ["env", *arguments], env={**UNSET, **shell})


def shell(url: str, key: str, **more: str) -> dict[str, str]:
    return {"AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": key, **more}


@pytest.mark.parametrize("present", ["torpor", "AKIAUSER", "AKIAOTHER"])
def test_a_named_folder_comes_before_the_keys_of_the_shell(url: str, folder: Path, present: str) -> None:
    done = env("--data-dir", str(folder), **shell(url, present))
    assert "export AWS_ACCESS_KEY_ID=AKIAROOT\n" in done.stdout
    assert done.stderr == ""


def test_a_named_folder_that_has_no_credential_leaves_the_keys_of_the_shell(url: str, tmp_path: Path) -> None:
    done = env("--data-dir", str(tmp_path), **shell(url, "AKIAUSER"))
    assert "export AWS_ACCESS_KEY_ID=AKIAUSER\n" in done.stdout


def test_a_named_folder_of_another_endpoint_is_an_error(url: str, tmp_path: Path) -> None:
    other = folder_of(tmp_path / "other", "AKIAOTHER")
    done = env("--data-dir", str(other), **shell(url, "AKIAUSER"))
    assert (done.exit_code, done.stdout) == (1, "")
    assert f"refuses the keys of {other}: It is not known. (InvalidClientTokenId)" in done.stderr


@pytest.mark.parametrize(
    ("present", "printed"), [("AKIAUSER", "AKIAUSER"), ("torpor", "AKIAROOT"), ("AKIAOTHER", "AKIAROOT")]
)
def test_without_a_named_folder_the_shells_keys_stay_if_the_endpoint_accepts_them(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, present: str, printed: str
) -> None:
    monkeypatch.chdir(tmp_path)
    folder_of(tmp_path / ".torpor", "AKIAROOT")
    assert f"export AWS_ACCESS_KEY_ID={printed}\n" in env(**shell(url, present)).stdout


def test_keys_that_are_refused_are_reported(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = env(**shell(url, "AKIAOTHER"))
    assert (done.exit_code, done.stdout) == (1, "")
    assert "refuses the keys of this shell: It is not known. (InvalidClientTokenId)" in done.stderr


def test_the_keys_of_a_named_folder_are_printed_for_an_endpoint_that_does_not_answer(folder: Path) -> None:
    done = env("--url", "http://127.0.0.1:9", "--data-dir", str(folder), **shell("http://127.0.0.1:9", "torpor"))
    assert "export AWS_ACCESS_KEY_ID=AKIAROOT\n" in done.stdout
    assert "start one with `torpor up`" in done.stderr


def test_nothing_of_another_account_stays_in_the_shell(url: str, folder: Path, profile: Path) -> None:
    foreign = {**dict.fromkeys(LEFT_OVER, "foreign"), "AWS_CONFIG_FILE": str(profile)}
    printed = env("--data-dir", str(folder), **shell(url, "torpor", **foreign)).stdout
    line = ["sh", "-c", 'eval "$1"; exec "$2" -c "import os; print(*os.environ)"', "sh", printed, sys.executable]
    left = subprocess.run(line, env=foreign, capture_output=True, text=True, check=True).stdout.split()
    assert "AWS_ACCESS_KEY_ID" in left
    assert not set(LEFT_OVER) & set(left)


def test_the_token_of_keys_that_are_printed_stays(profile: Path) -> None:
    foreign = {"AWS_PROFILE": "foreign", "AWS_CONFIG_FILE": str(profile)}
    with answering(lambda asked: Told(200, IDENTITY), {**HEALTH, "auth": "on"}) as url:
        printed = env(**shell(url, "ASIASESSION", AWS_SESSION_TOKEN="mine", **foreign)).stdout
    assert "export AWS_SESSION_TOKEN=mine\n" in printed
    assert printed.endswith("\nunset AWS_PROFILE\n")


def test_without_another_account_nothing_is_unset() -> None:
    with answering(verify) as url:
        assert "unset" not in env("--url", url).stdout
