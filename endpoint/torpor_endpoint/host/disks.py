"""Keeps the disks of instances in folders, which last as long as their variant.

A folder is `<endpoint>/<variant>/<number>`, or `<number>.<container>` for a further container of the instance. Beside
them is `mapped`, with the files that all instances of the variant map. Where callers are verified, `@` and a digest of
the instance's role follow.

A folder that cannot be removed now is removed at the next start.
"""

import shutil
from collections.abc import Collection
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from secrets import token_hex

from torpor_container.processes.import_steps import Step
from torpor_container.processes.step_record import recorded
from torpor_endpoint.host import Slot


class Disks:
    """The disks of all instances. `folder` holds them and nothing else."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def verdicts(self) -> Path:
        """The folder of the trials' verdicts, beside the disks: it outlasts every endpoint. It has digests of contents,
        and nothing that was read."""
        return self.folder.with_name("verdicts")

    def of(self, slot: Slot, role: str = "") -> Path:
        """The folder of the slot's disk. That of another container is beside it: a disk lies in no other. What one role
        has read is on no disk of another role."""
        name = f"{slot.number}.{slot.container}" if slot.container else str(slot.number)
        return self._variant(slot.endpoint, slot.variant) / f"{name}{_whose(role)}"

    def mapped_of(self, slot: Slot, role: str = "") -> Path:
        """The folder of the files that the slot's instance maps, as do the variant's others of this role."""
        return self._variant(slot.endpoint, slot.variant) / f"mapped{_whose(role)}"

    def step_of(self, slot: Slot) -> Step | None:
        """The highest step that the variant's models needed in the last life of a slot; None if none was loaded."""
        folders = self._variant(slot.endpoint, slot.variant)
        return max((step for folder in folders.glob("*") if (step := recorded(folder)) is not None), default=None)

    def put_aside(self, endpoint: str, variant: str | None = None) -> Path:
        """Rename the disks of a variant, or of an endpoint: one of the same name gets new ones at once. The folder that
        is returned is to be removed, if it is there."""
        folder = self._endpoint(endpoint) if variant is None else self._variant(endpoint, variant)
        aside = folder.with_name(f".{token_hex(8)}")  # no endpoint and no variant has such a name
        with suppress(OSError):  # such as of a variant that never had an instance
            folder.rename(aside)
        return aside

    def sweep(self, kept: Collection[tuple[str, str]]) -> None:
        """Remove all disks but those of these endpoints' variants: a killed Torpor leaves some behind."""
        existing = {self._variant(endpoint, variant) for endpoint, variant in kept}
        for folder in self.folder.glob("*/*"):
            if folder not in existing:
                shutil.rmtree(folder, ignore_errors=True)

    def _endpoint(self, name: str) -> Path:
        return self.folder / name.lower()

    def _variant(self, endpoint: str, variant: str) -> Path:
        return self._endpoint(endpoint) / variant


def _whose(role: str) -> str:
    return f"@{sha256(role.encode()).hexdigest()[:12]}" if role else ""
