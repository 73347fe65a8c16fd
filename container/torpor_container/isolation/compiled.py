"""Compiles the modules of a script for its next start, since what Python compiles in the box goes with the box.

The guardian compiles, which no script can change, from the folder as it was unpacked. It runs nothing of it.
"""

import os
import py_compile
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import cache_from_source
from pathlib import Path

SOURCES_MAX = 100
SOURCES_MAX_BYTES = 256 * 1024
"""Of all sources together. A script with more is compiled anew at each start."""


def compile_modules(model: Path, into: Path) -> None:
    """Compile the Python files of a model's folder into a new folder, as `__pycache__` beside each has them."""
    if into.exists() or sys.dont_write_bytecode:
        return
    unfinished = into.with_name(f"{into.name}.{os.getpid()}")
    with suppress(OSError):  # there is no room, or the folder has left the disk meanwhile
        unfinished.mkdir()
        for path in _sources(model):
            compiled = unfinished / Path(cache_from_source(str(path))).relative_to(model)
            with suppress(py_compile.PyCompileError, ValueError, RecursionError, MemoryError):  # its import tells
                py_compile.compile(str(path), str(compiled), doraise=True, quiet=2)
        unfinished.rename(into)


def _sources(model: Path) -> list[Path]:
    found = list[Path]()
    size_bytes = 0
    for path in _python_files(model):
        size_bytes += path.stat().st_size
        found.append(path)
        if len(found) > SOURCES_MAX or size_bytes > SOURCES_MAX_BYTES:
            return []
    return found


def _python_files(model: Path) -> Iterator[Path]:
    for folder, _, names in os.walk(model):
        yield from (Path(folder, name) for name in names if name.endswith(".py"))
