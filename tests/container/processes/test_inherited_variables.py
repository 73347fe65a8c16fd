"""The environment variables of an endpoint that its processes inherit."""

import asyncio
import os
from pathlib import Path

import pytest

from tests.helpers.zygotes import LIGHT
from torpor_container.formats.script.aws_variables import VARIABLES, Place, environment
from torpor_container.processes.inherited_variables import INHERITED, for_foreign_code, inherited, opt_outs
from torpor_container.processes.zygote_client import Job, OwnedZygote

SHELL = {
    "PATH": "/bin",
    "HOME": "/home/me",
    "LC_TIME": "de_DE.UTF-8",
    "PYTHONPATH": "/mine",
    "https_proxy": "http://proxy",
    "GITHUB_TOKEN": "secret",
    "DATABASE_URL": "secret",
    "SSH_AUTH_SOCK": "/run/agent",
    "TORPOR_POLICY": "LFU",
    "LCD": "no locale",
    "AWS_PROFILE": "work",
    "PIP_INDEX_URL": "http://me:secret@index",
}


def test_variables_that_processes_need_are_inherited_and_secrets_are_not() -> None:
    seen = inherited(SHELL, forgotten=("AWS_",))
    assert seen.keys() == {"PATH", "HOME", "LC_TIME", "PYTHONPATH", "https_proxy", "PIP_INDEX_URL"}
    assert "secret" not in str(for_foreign_code(seen))


def test_credentials_are_inherited_where_artifacts_come_from_the_real_aws() -> None:
    assert inherited(SHELL)["AWS_PROFILE"] == "work"


def test_what_refuses_usage_data_is_inherited_and_reaches_scripts(tmp_path: Path) -> None:
    refusing = {"DO_NOT_TRACK": "1", "ORT_DISABLE_TELEMETRY": "1", "RAY_USAGE_STATS_ENABLED": "0"}
    seen = inherited({**SHELL, **refusing}, forgotten=("AWS_",))
    assert opt_outs(seen) == refusing
    place = Place(tmp_path, tmp_path / "inference.py", for_foreign_code(seen))
    assert refusing.items() <= environment(place).items()


def test_every_row_has_a_reason() -> None:
    assert all(row.names and row.why for row in INHERITED)


def test_a_child_cannot_read_what_the_zygote_s_owner_was_started_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """/proc shows the initial environment of a forked process's parent, whatever its own variables are."""
    monkeypatch.setenv("GITHUB_TOKEN", "secret-of-the-shell")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1] / "helpers"))
    log = tmp_path / "told"

    async def story() -> None:
        parent = await OwnedZygote.start(tmp_path / "s", LIGHT)
        try:
            child = await parent.fork(Job("zygote_jobs:tell_what_it_was_started_with", log=log))
            assert await child.wait() == 0
        finally:
            await parent.close()
        assert "PYTHONPATH" in log.read_text()
        assert "secret-of-the-shell" not in log.read_text()

    asyncio.run(story())


def test_a_script_s_variables_are_those_of_aws_s_images_under_the_container_s_own(tmp_path: Path) -> None:
    place = Place(
        tmp_path, tmp_path / "code" / "serve.py", {"AWS_REGION": "eu-west-1", "SM_MODEL_DIR": "/else", "MINE": "1"}
    )
    told = environment(place)
    assert told["SAGEMAKER_REGION"] == told["AWS_DEFAULT_REGION"] == "eu-west-1"
    assert (told["SM_MODEL_DIR"], told["MINE"], told["SAGEMAKER_PROGRAM"]) == ("/else", "1", "serve.py")
    assert told.keys() - {variable.name for variable in VARIABLES} == {"MINE"}
    assert os.path.dirname(told["SM_INPUT_DATA_CONFIG_FILE"]) == "/opt/ml/input/config"
