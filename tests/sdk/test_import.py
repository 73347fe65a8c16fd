"""`import torpor` is light until a name is used, and a missing dependency is named."""

import pydoc
import re
import subprocess
import sys
import sysconfig
import tomllib
from importlib.util import find_spec
from inspect import signature
from pathlib import Path

import pytest

import torpor
import torpor_account
import torpor_container
import torpor_endpoint
from torpor.errors import MissingExtra
from torpor.extras import PACKAGES, require
from torpor_container.how_to_install import how_to_install

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
HEAVY = ("boto3", "numpy", "xgboost", "sklearn", "onnxruntime", "typer", "rich", "starlette", "gunicorn")


def link_torpor(folder: Path) -> None:
    """Put the four packages of the distribution into a folder, without their dependencies."""
    for package in (torpor, torpor_account, torpor_endpoint, torpor_container):
        (folder / package.__name__).symlink_to(Path(str(package.__file__)).parent)


@pytest.mark.parametrize(
    "module", ["torpor", "torpor.pytest_plugin", "torpor.hosting.local_endpoint", "torpor.bundling"]
)
def test_importing_it_imports_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}; print([name for name in {HEAVY!r} if name in sys.modules])"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed == "[]\n"


def test_every_public_name_is_there() -> None:
    assert [name for name in torpor.__all__ if not getattr(torpor, name)] == []


def test_completion_shows_the_public_names_and_nothing_else() -> None:
    assert [name for name in dir(torpor) if not name.startswith("_")] == sorted(set(torpor.__all__) - {"__version__"})


def test_help_shows_the_public_names() -> None:
    shown = pydoc.plain(pydoc.render_doc(torpor))
    assert [name for name in torpor.__all__ if name not in shown] == ["__version__"]  # help calls that VERSION


def test_help_works_where_the_simulator_is_not_installed(tmp_path: Path) -> None:
    """By an interpreter that sees boto3, and none of the simulator's packages."""
    packages = Path(sysconfig.get_path("purelib"))
    for name in ("boto3", "botocore", "jmespath", "dateutil", "urllib3", "s3transfer", "six.py"):
        (tmp_path / name).symlink_to(packages / name)
    [metadata] = packages.glob("torpor-*.dist-info")
    (tmp_path / metadata.name).symlink_to(metadata)
    link_torpor(tmp_path)
    bare = [
        sys.executable,
        "-S",
        "-c",
        "import pydoc, torpor; print(pydoc.render_doc(torpor), 'simulate' in dir(torpor))",
    ]
    printed = subprocess.run(bare, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=True).stdout
    assert "local(" in printed.replace("\b", "")
    assert printed.endswith("False\n")


def test_a_name_that_is_none_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        torpor.nonsense  # noqa: B018


def test_a_missing_extra_names_the_command_that_brings_it() -> None:
    with pytest.raises(MissingExtra, match=r"the command needs no_such_package: .* pip install --editable '\.\[cli\]'"):
        require("the command", "cli", packages={"cli": ("rich", "no_such_package")})


@pytest.mark.parametrize("name", ["simulate", "plan", "BadTrace"])
def test_the_simulator_without_numpy_names_its_extra(tmp_path: Path, name: str) -> None:
    """By an interpreter that sees no packages but ours."""
    link_torpor(tmp_path)
    code = f"import torpor\ntry: torpor.{name}\nexcept torpor.MissingExtra as missing: print(missing)"
    bare = [sys.executable, "-S", "-c", code]
    printed = subprocess.run(bare, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=True).stdout
    assert printed == f"torpor.{name} needs numpy: {how_to_install('simulator')}\n"


@pytest.mark.parametrize("extra", PACKAGES)
def test_every_package_of_the_extras_is_one_that_can_be_found(extra: str) -> None:
    """One that is not installed here has the name by which the extra asks for it."""
    asked = {re.split(r"[<>=;\[]", line)[0] for line in EXTRAS[extra]}
    assert [one for one in PACKAGES[extra] if find_spec(one) is None and one not in asked] == []


@pytest.mark.parametrize("name", ["local", "Caller", "simulate", "plan"])
def test_a_signature_can_be_read(name: str) -> None:
    assert len(str(signature(getattr(torpor, name)))) < 1500
