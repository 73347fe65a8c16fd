"""The face is light until it is used, and says what is missing."""

import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from inspect import signature
from pathlib import Path

import pytest

import torpor
from torpor.errors import MissingExtra
from torpor.extras import PACKAGES, require

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
HEAVY = ("boto3", "numpy", "xgboost", "sklearn", "onnxruntime", "typer", "rich", "starlette", "gunicorn")


@pytest.mark.parametrize("module", ["torpor", "torpor.pytest_plugin", "torpor.serving", "torpor.bundling"])
def test_importing_it_imports_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}; print([name for name in {HEAVY!r} if name in sys.modules])"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed == "[]\n"


@pytest.mark.parametrize("name", torpor.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(torpor, name)


def test_a_name_that_is_none_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        torpor.nonsense  # noqa: B018


def test_a_missing_extra_names_the_command_that_brings_it() -> None:
    with pytest.raises(MissingExtra, match=r"the command needs no_such_package: pip install 'torpor\[cli\]'"):
        require("the command", "cli", packages={"cli": ("rich", "no_such_package")})


@pytest.mark.parametrize("name", ["simulate", "plan", "BadTrace"])
def test_the_simulator_without_numpy_names_its_extra(tmp_path: Path, name: str) -> None:
    """By an interpreter that sees no packages but ours."""
    (tmp_path / "torpor").symlink_to(Path(torpor.__file__).parent)
    code = f"import torpor\ntry: torpor.{name}\nexcept torpor.MissingExtra as missing: print(missing)"
    bare = [sys.executable, "-S", "-c", code]
    printed = subprocess.run(bare, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=True).stdout
    assert printed == f"torpor.{name} needs numpy: pip install 'torpor[simulator]'\n"


@pytest.mark.parametrize("extra", PACKAGES)
def test_every_package_of_the_extras_is_one_that_can_be_found(extra: str) -> None:
    """One that is not installed here has the name by which the extra asks for it."""
    asked = {re.split(r"[<>=;\[]", line)[0] for line in EXTRAS[extra]}
    assert [one for one in PACKAGES[extra] if find_spec(one) is None and one not in asked] == []


@pytest.mark.parametrize("name", ["local", "Caller", "simulate", "plan"])
def test_a_signature_can_be_read(name: str) -> None:
    assert len(str(signature(getattr(torpor, name)))) < 1500
