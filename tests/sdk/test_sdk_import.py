"""The face is light until it is used, and says what is missing."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

import torpor
from torpor.errors import MissingExtra
from torpor.extras import PACKAGES, require

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


def test_every_package_of_the_extras_is_one_that_can_be_found() -> None:
    assert [package for packages in PACKAGES.values() for package in packages if find_spec(package) is None] == []
