"""Fetches user code from outside the artifacts: one archive with the script of every model, fetched once.

The SageMaker SDK's framework models upload `sourcedir.tar.gz` and name it in SAGEMAKER_SUBMIT_DIRECTORY; the container
fetches it. A container that runs alone may have it in a folder, or an archive, on its own machine.
"""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from torpor_container.artifacts.archives.unpack import UnpackLimits, unpack
from torpor_container.artifacts.errors import ArtifactError
from torpor_container.artifacts.stores.artifact_store import ArtifactStore
from torpor_container.errors import LoadFailed
from torpor_container.formats import script
from torpor_container.processes.threads import run_to_completion

Unpack = Callable[[Path, Path, UnpackLimits, str], object]


class Submitted(Protocol):
    """Where the script of every model comes from."""

    async def script(self) -> Path:
        """The script's path, its own modules beside it. Raises LoadFailed; the next call tries again."""


class SubmittedCode:
    """The archive `key` of one bucket, unpacked into `folder` when the first model needs its script."""

    def __init__(
        self,
        store: ArtifactStore,
        key: str,
        folder: Path,
        program: str,
        limits: UnpackLimits,
        unpack: Unpack = unpack,
    ) -> None:
        self._store = store
        self._key = key
        self._folder = folder
        self._program = program
        self._limits = limits
        self._unpack = unpack
        self._fetching = asyncio.Lock()
        self._script: Path | None = None

    async def script(self) -> Path:
        """The script's path, its own modules beside it. Raises LoadFailed; the next call tries again."""
        async with self._fetching:
            if self._script is None:
                self._script = await self._fetch()
            return self._script

    async def _fetch(self) -> Path:
        try:
            head = await self._store.head(self._key)
            await run_to_completion(_make_empty, self._folder)
            archive = self._folder / "archive"
            await self._store.get(self._key, head, archive)
            return await run_to_completion(self._script_in, archive)
        except ArtifactError as error:
            raise LoadFailed(f"the code in SAGEMAKER_SUBMIT_DIRECTORY cannot be fetched: {error}") from error

    def _script_in(self, archive: Path) -> Path:
        code = self._folder / "code"
        self._unpack(archive, code, self._limits, self._key)
        return _script_in(code, self._program, self._key)


class SubmittedFolder:
    """User code in a folder of this machine, for a container that runs alone."""

    def __init__(self, folder: Path, program: str) -> None:
        self._folder = folder
        self._program = program

    async def script(self) -> Path:
        """The script's path. Raises LoadFailed."""
        return await run_to_completion(_script_in, self._folder, self._program, str(self._folder))


def _script_in(code: Path, program: str, name: str) -> Path:
    """The script in a folder. Raises LoadFailed."""
    found = script.find(code, program)
    if found is None:
        expected = program or script.PROGRAM
        raise LoadFailed(f"there is no {expected} in {name}, which SAGEMAKER_SUBMIT_DIRECTORY names")
    return found


def _make_empty(folder: Path) -> None:
    """Make an empty folder, without an earlier process's code."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
