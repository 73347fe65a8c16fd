"""Builds the C extension that walks flat trees, where there is a C compiler; `pip` and `make setup` run it.

An editable install gets it beside its sources, a wheel gets it inside. Without a compiler or headers of Python, or if
the compiler fails, there is none: the wheel is for any platform, and the libraries serve all models.
"""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = "container/torpor_container/trees"
SOURCE, BUILT = "walk.c", "_walk.abi3.so"
INSTALLED = f"torpor_container/trees/{BUILT}"
# Fused operations would round once where the libraries round twice: sums would differ in their last bit.
FLAGS = ("-std=c11", "-O2", "-ffp-contract=off", "-fPIC", "-Wall", "-Wextra", "-Wno-unused-parameter")
LINKED = ("-bundle", "-undefined", "dynamic_lookup") if sys.platform == "darwin" else ("-shared",)


class TreesExtension(BuildHookInterface[Any]):
    """Runs once for each wheel and each editable install."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        folder = Path(self.root) / FOLDER
        if version == "editable":
            built = folder / BUILT
            built.unlink(missing_ok=True)
            self._said(compiled(folder / SOURCE, built))
            return
        build_data["force_include"].pop(INSTALLED, None)
        self._made = tempfile.TemporaryDirectory()
        built = Path(self._made.name) / BUILT
        if not self._said(compiled(folder / SOURCE, built)):
            build_data["force_include"][str(built)] = INSTALLED
            build_data["pure_python"] = False
            build_data["tag"] = f"cp311-abi3-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if made := getattr(self, "_made", None):
            made.cleanup()

    def _said(self, why_not: str) -> str:
        if why_not:
            self.app.display_warning(f"Flat trees stay off, and the libraries serve all models: {why_not}")
        return why_not


def compiled(source: Path, built: Path) -> str:
    """Compile the extension. Why that was not possible; empty if it was."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "a free-threaded Python has no stable interface for extensions"
    headers = Path(sysconfig.get_path("include"))
    if not (headers / "Python.h").is_file():
        return f"Python's headers are not in {headers}"
    compiler = shlex.split(os.environ.get("CC", ""))
    if not compiler:
        compiler = [found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))][:1]
    if not compiler:
        return "there is no C compiler"
    command = [*compiler, *FLAGS, *LINKED, f"-I{headers}", str(source), "-o", str(built), "-lm"]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        return f"the C compiler {compiler[0]} cannot be run: {error}"
    if ran.returncode:
        built.unlink(missing_ok=True)
        return f"the C compiler failed: {ran.stderr.strip()[-500:]}"
    return ""
