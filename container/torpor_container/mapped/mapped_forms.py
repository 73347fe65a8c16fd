"""Finds and makes the mapped forms of one instance's models. A form is made, and proved, once for each version.

The proof, and a conversion that needs the model's framework, run in a process like those of trials.
"""

import logging
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from functools import cached_property
from pathlib import Path

from torpor_container.artifacts.errors import DiskFull
from torpor_container.core.trials import most_bytes
from torpor_container.errors import LoadFailed
from torpor_container.formats.format import Format, MappedForm, NotMapped
from torpor_container.frozen_class import frozen
from torpor_container.mapped.mapped_folder import MappedFile, MappedFolder
from torpor_container.processes.threads import on_thread, run_to_completion
from torpor_container.trials.trial_process import Afterwork, Trials

log = logging.getLogger(__name__)

PRIVATE, SHARED, AUTO, FIRST = "private", "shared", "auto", "first"
"""Each instance has its own copy; all map one; all map one until it is hot; all map one, and no answer comes before."""
REFUSED = "refused"
"""Ends the name of the file that says why a version has no mapped form."""


@frozen
class MappableFile:
    """The file of one version of a model that may have a mapped form."""

    format: Format
    path: Path
    content: str
    """Tells the artifact's content and the software that reads it from any other, whatever its key in S3
    (`verdicts.key_of`)."""
    disk_bytes: int

    @property
    def form(self) -> MappedForm:
        assert self.format.mapped is not None
        return self.format.mapped

    @cached_property
    def name(self) -> str:
        return MappedFolder.name_of(self.form.kind, self.content, self.path.name)


class MappedForms:
    """The forms of one instance's models, in a folder that it shares."""

    def __init__(self, folder: MappedFolder, trials: Trials, ways: Mapping[str, str]) -> None:
        """`ways` has, for the names of formats, one of the words below; other formats are never mapped."""
        self._folder = folder
        self._trials = trials
        self._ways = ways
        self._failed: set[str] = set()

    def wanted(self, file: MappableFile) -> bool:
        """Whether the model is to be mapped."""
        known = file.format
        is_mapped = known.mapped is not None and self._ways.get(known.name, PRIVATE) != PRIVATE
        return is_mapped and file.disk_bytes >= file.form.least_bytes

    def comes_first(self, known: Format) -> bool:
        """Whether a model of the format is mapped before its first answer."""
        return known.mapped is not None and self._ways.get(known.name) == FIRST

    def leaves_when_hot(self, known: Format) -> bool:
        """Whether a model that is called often leaves its mapped form."""
        return known.mapped is not None and known.mapped.until_hot and self._ways.get(known.name) == AUTO

    def share_bytes(self, file: MappableFile) -> int | None:
        """What the model's form would be charged here; None if the model is not to be mapped, or has no form yet.
        Blocks."""
        return self._folder.share_bytes(file.name) if self.wanted(file) else None

    def why_refused(self, file: MappableFile) -> str:
        """Why a model that is to be mapped has no form; empty where nobody has found out. Blocks."""
        return self._folder.read(f"{file.name}.{REFUSED}") if self.wanted(file) else ""

    def close(self) -> None:
        self._folder.close()

    def take(self, file: MappableFile) -> MappedFile | None:
        """The model's mapped form, held until it is released; None if it has none yet. Blocks."""
        with suppress(OSError, DiskFull):
            return self._folder.take(file.name)
        return None

    def damaged(self, file: MappableFile, error: Exception) -> None:
        """A form could not be used: it is removed, and made anew after the next load."""
        log.warning("the mapped form of %s cannot be used, and is removed: %s", file.path.name, error)
        self._folder.forget(file.name)

    async def made(self, file: MappableFile) -> MappedFile | None:
        """Make the form, unless another instance has; None if that fails now. Raises NotMapped with the reason if the
        model has none, which is then known."""
        if file.name in self._failed:
            return None
        if why := await on_thread(self.why_refused, file):
            raise NotMapped(why)
        if (held := await on_thread(self.take, file)) is not None:
            return held
        try:
            return await self._make(file)
        except NotMapped as why:
            await on_thread(self._refuse, file, str(why))
            raise
        except (LoadFailed, DiskFull, OSError) as error:  # the next instance may have better luck
            log.info("%s has no mapped form now: %s", file.path.name, error)
            self._failed.add(file.name)
        return None

    # -- inside ----------------------------------------------------------------------------------------------------
    async def _make(self, file: MappableFile) -> MappedFile:
        made = await on_thread(self._begun, file)
        with ExitStack() as unless_proved:
            unless_proved.callback(made.release)
            with made.path.open("rb+") as target:
                limit_bytes = most_bytes(self._trials.budget_bytes, file.disk_bytes)
                arguments = {"path": str(file.path), "file": str(made.path)}
                step = file.format.step(file.path)
                work = Afterwork(file.form.prove, arguments, file.disk_bytes, limit_bytes, [target.fileno()], step)
                told = await self._trials.after(work)
            if why := told.get("refused"):
                raise NotMapped(why)
            unless_proved.pop_all()
        log.info("%s has a mapped form: %s", file.path.name, told.get("note", ""))
        return await run_to_completion(self._published, made)

    def _published(self, made: MappedFile) -> MappedFile:
        with ExitStack() as unless_published:
            unless_published.callback(made.release)
            published = self._folder.publish(made)
            unless_published.pop_all()
        return published

    def _begun(self, file: MappableFile) -> MappedFile:
        if file.path.stat().st_size < file.form.least_bytes:
            raise NotMapped(f"it is smaller than {file.form.least_bytes:,} bytes")
        made = self._folder.begin(file.name)
        with ExitStack() as unless_begun:
            unless_begun.callback(made.release)
            if file.form.write is not None:
                with made.path.open("wb") as target:
                    file.form.write(file.path, target)
            unless_begun.pop_all()
        return made

    def _refuse(self, file: MappableFile, why: str) -> None:
        log.info("%s has no mapped form: %s", file.path.name, why)
        with suppress(OSError, DiskFull):
            self._folder.put(f"{file.name}.{REFUSED}", lambda target: target.write(why.encode())).release()
