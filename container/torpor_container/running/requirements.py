"""Checks a script's `requirements.txt` against the installed packages, and installs what is missing beside the model.

AWS's containers run pip on it as they start. Here that needs the owner's permission, TORPOR_REQUIREMENTS=install, since
packages run code as they are installed. Packages that are loaded before any script starts, such as numpy, cannot have
another version.
"""

import asyncio
import hashlib
import os
import shutil
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING, Final

from torpor_container.errors import LoadFailed
from torpor_container.processes.quiet_time import patiently
from torpor_container.processes.threads import run_to_completion

if TYPE_CHECKING:
    from packaging.requirements import Requirement

FILE: Final = "requirements.txt"
COMPLETE: Final = ".complete"
"""A file in an installation with the digest of its requirements. It is written last."""

LOADED: Final = ("numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl", "xgboost", "xgboost-cpu")
"""Scripts are forked from a process that has imported these."""

SAME: Final[Mapping[str, str]] = {"xgboost": "xgboost-cpu"}
"""Distributions that hold the same modules."""

OUTPUT_MAX: Final = 600
"""How many characters of an installer's last output an error has."""


@dataclass(frozen=True)
class Unmet:
    """A line of the file that the installed packages do not meet."""

    line: str
    why: str
    final: bool = False  # no installation can help

    def __str__(self) -> str:
        return f"{self.line} ({self.why})"


def unmet(file: Path) -> list[Unmet]:
    """The requirements of the file that are not installed. Raises OSError, UnicodeDecodeError."""
    return [fault for line in _lines(file) if (fault := _fault(line)) is not None]


def _lines(file: Path, depth: int = 0) -> Iterator[str]:
    """The lines with requirements, also of included files. Options are left out: they are for the installer."""
    for line in file.read_text().replace("\\\n", " ").splitlines():
        text = line.strip() if line.lstrip().startswith(("-", "http")) else line.partition("#")[0].strip()
        option, _, value = text.partition(" ")
        if option in ("-r", "--requirement") and depth < 5:
            yield from _lines(file.parent / value.strip(), depth + 1)
        elif text and not text.startswith("#") and (not text.startswith("-") or option in ("-e", "--editable")):
            yield text.partition(" --hash")[0].strip()


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
            missing = await asyncio.to_thread(unmet, file)
            digest = _digest(file)
        except (OSError, UnicodeDecodeError) as error:
            raise LoadFailed(f"{FILE} of the script cannot be read: {error}") from error
        if not missing:
            return None
        _check(missing, self._permission)
        async with self._installing:
            return await self._installed(file, self._home(model, digest), digest, timeout_s)

    def _home(self, model: Path, digest: str) -> Path:
        """The folder to install to: beside the unpacked artifact, and removed with it; else that of the instance."""
        if (model.parent / "artifact.json").is_file():
            return model.parent / "requirements"
        return self._base_dir / "requirements" / digest

    async def _installed(self, file: Path, home: Path, digest: str, timeout_s: float) -> Path:
        marker = home / COMPLETE
        if marker.is_file() and marker.read_text() == digest:
            return home
        await run_to_completion(_make_empty, home)
        try:
            async with patiently(timeout_s):
                await self._install(file, home)
        except TimeoutError:
            raise LoadFailed(f"{FILE} of the script was not installed within {timeout_s:g} s") from None
        marker.write_text(digest)
        return home

    async def _install(self, file: Path, home: Path) -> None:
        """Run the installer. Raises LoadFailed with the end of its output."""
        constraints = home / ".constraints"
        constraints.write_text(_constraints())
        process = await asyncio.create_subprocess_exec(
            *_installer(self._environment, home),
            "-r",
            str(file),
            "-c",
            str(constraints),
            cwd=file.parent,
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


def _digest(file: Path) -> str:
    """A digest of all that decides what is installed."""
    content = "\n".join((*_lines(file), file.read_text(), sys.version))
    return hashlib.sha256(content.encode()).hexdigest()[:32]


def _make_empty(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
