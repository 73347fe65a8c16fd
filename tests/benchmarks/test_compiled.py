"""The modules of `make compiled` can be imported, decide as the sources do, and are measured if they match them."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path

import pytest
from mypyc.primitives import registry

import torpor_container.app  # noqa: F401  with all of an instance
import torpor_endpoint.app  # noqa: F401  with all of an endpoint
from benchmarks import simulator

COMPILED_TESTS = ("test_kept_stories.py", "engine/apart")
"""Tests that the compiled simulator passes too: it decides as its sources do, for instances together and apart."""


def test_a_subclass_of_a_compiled_class_is_compiled_too() -> None:
    """Python refuses to make any other such class."""
    modules = compiled_modules()
    classes = [value for name in modules for value in vars(import_module(name)).values() if isinstance(value, type)]
    compiled = [kind for kind in classes if kind.__module__ in modules]
    ours = [heir for kind in compiled for heir in heirs(kind) if heir.__module__.startswith("torpor")]
    assert ours
    assert {heir.__qualname__ for heir in ours if heir.__module__ not in modules} == set()


def test_the_compiler_knows_the_type_of_each_field() -> None:
    """A module that has a field of another built-in type compiles, and cannot be imported."""
    known = {name.removeprefix("builtins.") for name in registry.builtin_names}
    classes = [kind for name in compiled_modules() for kind in vars(import_module(name)).values() if is_dataclass(kind)]
    types = {one.type for kind in classes for one in fields(kind) if isinstance(one.type, type)}
    built_in = {one.__name__ for one in types if one.__module__ == "builtins"}
    assert built_in > {"float", "int"}
    assert built_in - known == set()


@pytest.mark.thorough
@pytest.mark.slow
def test_what_is_compiled_can_be_imported_and_tells_the_same_stories(tmp_path: Path) -> None:
    """Without optimisation, so that the compilers take a minute or two."""
    quickly = {**os.environ, "MYPYC_OPT_LEVEL": "0"}
    asked = ["make", "compiled", f"COMPILED_IN={tmp_path}"]
    made = subprocess.run(asked, cwd=simulator.ROOT, env=quickly, capture_output=True, text=True, timeout=1800)
    assert made.returncode == 0, made.stdout + made.stderr

    names = sorted(compiled_modules())
    imports = f"import importlib; print(*[importlib.import_module(name).__file__ for name in {names}])"
    around = {**os.environ, "PYTHONPATH": str(tmp_path)}
    found = subprocess.run(
        [sys.executable, "-c", imports], cwd=tmp_path, env=around, capture_output=True, text=True, timeout=120
    )
    assert found.returncode == 0, found.stderr
    assert {Path(file).suffix for file in found.stdout.split()} == {".so"}

    tests = [str(simulator.ROOT / "tests" / "sdk" / "simulator" / name) for name in COMPILED_TESTS]
    asked = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    told = subprocess.run(asked, cwd=simulator.ROOT, env=around, capture_output=True, text=True, timeout=600)
    assert told.returncode == 0, told.stdout


def compiled_modules() -> set[str]:
    """As the Makefile names their files, below each package's folder."""
    told = (simulator.ROOT / "Makefile").read_text().partition("COMPILED := ")[2].partition("\n\n")[0]
    patterns = told.replace("\\\n", "").split()
    folders = [package.parent for package in map(simulator.ROOT.joinpath, simulator.SOURCES)]
    files = [path.relative_to(folder) for folder in folders for pattern in patterns for path in folder.glob(pattern)]
    return {".".join(file.with_suffix("").parts).removesuffix(".__init__") for file in files}


def heirs(kind: type) -> Iterator[type]:
    heir: type
    for heir in kind.__subclasses__():
        yield heir
        yield from heirs(heir)


def test_a_checkout_without_a_compiled_simulator_uses_none(tmp_path: Path) -> None:
    assert not simulator.compiled_of_these(tmp_path / "nowhere")


def test_a_compiled_simulator_of_other_sources_ends_the_run(tmp_path: Path) -> None:
    for package in map(simulator.ROOT.joinpath, simulator.SOURCES):
        shutil.copytree(package, tmp_path / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    assert simulator.compiled_of_these(tmp_path)

    (tmp_path / "torpor" / "simulator" / "engine" / "virtual_time.py").write_text("")
    with pytest.raises(
        SystemExit, match=r"sdk/torpor/simulator/engine/virtual_time\.py has changed since: `make compiled` again"
    ):
        simulator.compiled_of_these(tmp_path)
