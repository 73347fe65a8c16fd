"""Checks a script's `requirements.txt` against the installed packages, and installs what is missing beside the model.

AWS's containers run pip on it as they start. Here that needs the owner's permission, TORPOR_REQUIREMENTS=install, since
packages run code as they are installed. Packages that are loaded before any script starts, such as numpy, cannot have
another version.
"""

import asyncio
import hashlib
import os
import re
import shutil
import signal
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING, Final

from torpor_container.errors import LoadFailed
from torpor_container.frozen_class import frozen
from torpor_container.processes.threads import on_thread, run_to_completion
from torpor_container.running import requirement_files
from torpor_container.running.requirement_files import LineKind, RequirementLine
from torpor_container.waiting.quiet_timeout import patiently

if TYPE_CHECKING:
    from packaging.requirements import Requirement

FILE: Final = "requirements.txt"
COMPLETE: Final = ".complete"
"""A file in an installation with the digest of its requirements. It is written last."""

LOADED: Final = ("numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl", "xgboost", "xgboost-cpu")
"""Scripts are forked from a process that has imported these."""

SAME: Final[Mapping[str, str]] = {"xgboost": "xgboost-cpu"}
"""Distributions that hold the same modules."""

OF_LINE: Final = re.compile(r"\s--\w")
"""Where the options of one requirement begin, such as `--hash`."""

OUTPUT_MAX: Final = 600
"""How many characters of an installer's last output an error has."""


@frozen
class Unmet:
    """A line of the file that the installed packages do not meet."""

    line: str
    why: str
    final: bool = False  # no installation can help

    def __str__(self) -> str:
        return f"{self.line} ({self.why})"


def unmet(file: Path) -> list[Unmet]:
    """The requirements of the file that are not installed. Raises as `requirement_files.read`."""
    return _unmet(requirement_files.read(file))


def _unmet(lines: Iterable[RequirementLine]) -> list[Unmet]:
    asked = (line.shown for line in lines if line.kind is LineKind.REQUIREMENT)
    return [fault for shown in asked if (fault := _fault(OF_LINE.split(shown)[0])) is not None]


def _fault(line: str) -> Unmet | None:
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        required = Requirement(line)
    except InvalidRequirement:
        return Unmet(line, "only an installation can show it")
    if required.marker is not None and not required.marker.evaluate():
        return None
    if required.url is not None:
        return Unmet(line, "only an installation can show it")
    return _missing(required, line)


def _missing(required: "Requirement", line: str) -> Unmet | None:
    if _by_stand_in(required):
        return None
    installed = _installed(required.name)
    if installed is None:
        return Unmet(line, "not installed")
    if not required.specifier.contains(installed.version, prereleases=True):
        return Unmet(line, f"{installed.version} is installed", final=_name(installed.metadata["Name"]) in LOADED)
    for extra in required.extras:
        for needed in installed.requires or ():
            if (fault := _missing_of_extra(needed, extra, line)) is not None:
                return fault
    return None


def _missing_of_extra(needed: str, extra: str, line: str) -> Unmet | None:
    from packaging.requirements import Requirement

    required = Requirement(needed)
    marker = required.marker
    if marker is None or marker.evaluate({"extra": ""}) or not marker.evaluate({"extra": extra}):
        return None
    return _missing(required, line)


def _installed(name: str) -> Distribution | None:
    for known in (name, SAME.get(_name(name), name)):
        with suppress(PackageNotFoundError):
            return distribution(known)
    return None


@cache
def _stand_ins() -> frozenset[str]:
    """The distributions that have a stand-in: packages of AWS's images, which a script may import without an
    installation. The endpoint reads requirements too, and needs no model format: it imports none."""
    from torpor_container.formats.script import toolkits

    return frozenset(name.replace("_", "-") for name in toolkits.NAMES)


def _by_stand_in(required: "Requirement") -> bool:
    """Whether a stand-in answers for the package: every script may import it, whatever version is asked for."""
    return _name(required.name) in _stand_ins() and _installed(required.name) is None


def _name(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


class Requirements:
    """Installs what scripts require, for one instance, one installation at a time."""

    def __init__(self, permission: str, base_dir: Path, environment: Mapping[str, str]) -> None:
        """`permission` is TORPOR_REQUIREMENTS. `environment` has the installer's variables, such as its index."""
        self._permission = permission
        self._base_dir = base_dir
        self._environment = environment
        self._installing = asyncio.Lock()

    async def met(self, code: Path, model: Path, timeout_s: float) -> Path | None:
        """The folder with the packages that the script in the folder `code` needs; None if it needs no further ones.

        Raises LoadFailed if a requirement is not met, and may not or cannot be installed.
        """
        file = code / FILE
        if not file.is_file():
            return None
        try:
            lines = await on_thread(requirement_files.read, file)
        except (OSError, ValueError, LookupError) as error:
            raise LoadFailed(f"{FILE} of the script cannot be read: {error}") from error
        missing = await on_thread(_unmet, lines)
        if not missing:
            return None
        _check(missing, self._permission)
        digest = _digest(lines)
        async with self._installing:
            return await self._installed(code, lines, self._home(model, digest), digest, timeout_s)

    def _home(self, model: Path, digest: str) -> Path:
        """The folder to install to: beside the unpacked artifact, and removed with it; else that of the instance."""
        if (model.parent / "artifact.json").is_file():
            return model.parent / "requirements"
        return self._base_dir / "requirements" / digest

    async def _installed(
        self, code: Path, lines: Sequence[RequirementLine], home: Path, digest: str, timeout_s: float
    ) -> Path:
        marker = home / COMPLETE
        if marker.is_file() and marker.read_text() == digest:
            return home
        await run_to_completion(_make_empty, home)
        try:
            async with patiently(timeout_s):
                await self._install(code, lines, home)
        except TimeoutError:
            raise LoadFailed(f"{FILE} of the script was not installed within {timeout_s:g} s") from None
        marker.write_text(digest)
        return home

    async def _install(self, code: Path, lines: Sequence[RequirementLine], home: Path) -> None:
        """Run the installer. It gets the lines in UTF-8, whatever the encoding of the file.

        Raises LoadFailed with the end of its output.
        """
        wanted, constraints = home / ".wanted", home / ".constraints"
        wanted.write_text(
            _joined(line.text for line in lines if line.kind is not LineKind.CONSTRAINT and _is_wanted(line))
        )
        given = _joined(line.text for line in lines if line.kind is LineKind.CONSTRAINT)
        constraints.write_text(_constraints() + given)
        process = await asyncio.create_subprocess_exec(
            *_installer(self._environment, home),
            "-r",
            str(wanted),
            "-c",
            str(constraints),
            cwd=code,
            env=dict(self._environment),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            output, _ = await process.communicate()
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        if process.returncode:
            end = output.decode(errors="replace").strip()[-OUTPUT_MAX:]
            raise LoadFailed(f"{FILE} of the script cannot be installed: {end}")


def _check(missing: list[Unmet], permission: str) -> None:
    """Raise LoadFailed if the missing requirements cannot or may not be installed."""
    impossible = [str(fault) for fault in missing if fault.final]
    if impossible:
        raise LoadFailed(
            f"{FILE} of the script asks for {', '.join(impossible)}. Scripts run with the versions that Torpor has "
            "loaded: change the requirement, or install that version beside Torpor"
        )
    if permission != "install":
        raise LoadFailed(
            f"{FILE} of the script asks for {', '.join(map(str, missing))}: install it beside Torpor, or let the "
            "container install it for this model with TORPOR_REQUIREMENTS=install in its Environment"
        )


def _installer(environment: Mapping[str, str], home: Path) -> list[str]:
    """The installer's command: uv if it is on the path, else pip."""
    uv = shutil.which("uv", path=environment.get("PATH"))
    if uv is not None:
        return [uv, "pip", "install", "--python", sys.executable, "--target", str(home)]
    return [sys.executable, "-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--target", str(home)]


def _constraints() -> str:
    found = ((name, _installed(name)) for name in LOADED)
    return "".join(f"{name}=={known.version}\n" for name, known in found if known is not None)


def _is_wanted(line: RequirementLine) -> bool:
    """Whether the installer gets the line: not where a stand-in answers for its package."""
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        return not _by_stand_in(Requirement(OF_LINE.split(line.shown)[0]))
    except InvalidRequirement:
        return True


def _joined(texts: Iterable[str]) -> str:
    return "".join(f"{text}\n" for text in texts)


def _digest(lines: Sequence[RequirementLine]) -> str:
    """A digest of all that decides what is installed."""
    content = "\n".join((*(f"{line.kind.value} {line.shown}" for line in lines), sys.version))
    return hashlib.sha256(content.encode()).hexdigest()[:32]


def _make_empty(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
