"""The versions of gunicorn that may serve, and the error that names any other one."""

import subprocess
import sys
import tomllib
from pathlib import Path

import gunicorn
import pytest

from torpor_container.http.gunicorn_version import REQUIREMENT, UnknownGunicorn, check_version

ROOT = Path(__file__).parents[3]

START = """
import gunicorn
gunicorn.__version__ = "28.0.0"
from torpor_container.http.server import Server, ServerOptions
Server(lambda: None, ServerOptions())
print("it would serve")
"""


def test_the_installed_version_is_known() -> None:
    check_version()


@pytest.mark.parametrize("version", ["27.0.1", "27.0.1.post1", "27.0.12"])
def test_a_later_patch_of_a_known_version_is_known(version: str) -> None:
    check_version(version)


@pytest.mark.parametrize("version", ["27.0.0", "26.2.0", "27.1.0", "27.1", "27.1.0rc1", "28.0.0", "unknown"])
def test_any_other_version_is_refused_by_name_and_with_what_to_do(version: str) -> None:
    with pytest.raises(UnknownGunicorn) as refused:
        check_version(version)
    assert f"gunicorn {version} is installed" in str(refused.value)
    assert f"pip install '{REQUIREMENT}'" in str(refused.value)


def test_a_server_on_an_unknown_version_exits_at_once_with_one_line() -> None:
    done = subprocess.run([sys.executable, "-c", START], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("gunicorn 28.0.0 is installed")
    assert done.stderr.count("\n") == 1


def test_the_package_requires_the_versions_that_the_check_knows() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert [one for extra in extras.values() for one in extra if one.startswith("gunicorn")] == [REQUIREMENT] * 2
    assert f"gunicorn=={gunicorn.__version__}" in (ROOT / "constraints.txt").read_text().splitlines()
