"""The modules of `make compiled` can be imported, and are measured only if they match the sources."""

import shutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import torpor_container.app  # noqa: F401  with all of an instance
import torpor_endpoint.app  # noqa: F401  with all of an endpoint
from benchmarks import simulator


def test_a_subclass_of_a_compiled_class_is_compiled_too() -> None:
    """Python refuses to make any other such class."""
    modules = compiled_modules()
    classes = [value for name in modules for value in vars(import_module(name)).values() if isinstance(value, type)]
    compiled = [kind for kind in classes if kind.__module__ in modules]
    ours = [heir for kind in compiled for heir in heirs(kind) if heir.__module__.startswith("torpor")]
    assert ours
    assert {heir.__qualname__ for heir in ours if heir.__module__ not in modules} == set()


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
