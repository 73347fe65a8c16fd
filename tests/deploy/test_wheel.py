"""Wheels with and without the C extension, built by hatchling in this environment."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.helpers.thorough_values import thorough
from tests.markdown import ROOT

EXTENSION = "torpor_container/trees/_walk.abi3.so"
SOURCES = {"torpor_container/trees/walk.c", "torpor_container/trees/walk_loop.h", "torpor_container/trees/_walk.pyi"}


def built(folder: Path, **environment: str) -> tuple[str, set[str], str]:
    """The wheel's name, the files in it, and what the build printed."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    ran = subprocess.run(command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, check=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        return wheel.name, set(file.namelist()), ran.stdout + ran.stderr


def test_a_wheel_brings_the_extension_for_all_pythons_of_its_platform(tmp_path: Path) -> None:
    name, files, _ = built(tmp_path)
    assert name.startswith("torpor-")
    assert "-cp311-abi3-" in name
    assert {EXTENSION} | SOURCES <= files


@pytest.mark.parametrize("compiler", ["false", *thorough("/nowhere/cc")])
def test_without_a_compiler_that_works_a_wheel_is_for_any_platform(tmp_path: Path, compiler: str) -> None:
    name, files, printed = built(tmp_path, CC=compiler)
    assert name.endswith("-py3-none-any.whl")
    assert EXTENSION not in files
    assert files >= SOURCES
    assert "Flat trees stay off, and the libraries serve all models: the C compiler" in printed


@pytest.mark.thorough
def test_without_any_compiler_the_build_says_so(tmp_path: Path) -> None:
    _, files, printed = built(tmp_path, CC="", PATH="")
    assert EXTENSION not in files
    assert "there is no C compiler" in printed


@pytest.mark.thorough
def test_the_sources_of_the_extension_belong_to_the_source_distribution(tmp_path: Path) -> None:
    import tarfile

    command = [sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    assert {f"container/{name}" for name in SOURCES} | {"hatch_build.py"} <= names
    assert f"container/{EXTENSION}" not in names
