"""Makes the boxes of an instance's scripts from its settings, and their temporary folders."""

import os
from collections.abc import Iterable
from pathlib import Path
from tempfile import mkdtemp

from torpor_container.isolation.abilities import Abilities, found
from torpor_container.isolation.box import ScriptBox
from torpor_container.isolation.written import remove
from torpor_container.processes.inherited_variables import CA_BUNDLE
from torpor_container.processes.threads import on_thread
from torpor_container.settings import BadSetting, Settings

SCRATCH = "scratch-"


class ScriptBoxes:
    """The boxes of one instance."""

    def __init__(self, settings: Settings, abilities: Abilities | None = None) -> None:
        self._settings = settings
        self._abilities = abilities or found()
        self._base_dir = Path(settings.base_dir)
        self._swept = False

    def make_scratch(self) -> Path:
        """A new temporary folder. The first call removes those of an earlier process of this instance."""
        inside = self._base_dir if self._base_dir.is_dir() and os.access(self._base_dir, os.W_OK) else None
        if inside is not None and not self._swept:
            for left in inside.glob(f"{SCRATCH}*"):
                remove(left)
        self._swept = True
        return Path(mkdtemp(prefix=SCRATCH, dir=inside))

    def box(
        self, scratch: Path, model: Path, reads: Iterable[Path], memory_bytes: int, compiled: Path | None = None
    ) -> ScriptBox:
        """The box of a script with this model folder, which may read the folders of its modules too. `compiled` is
        where its compiled modules are for its next start, if the folder stays as it is."""
        settings = self._settings
        bundle = os.environ.get(CA_BUNDLE)  # all that a script sees of the data folder
        trusted = [Path(bundle)] if bundle else []
        own_sockets = (os.path.dirname(path) for path in (settings.zygote, settings.socket) if path)
        hidden = (*settings.script_hidden, settings.base_dir, settings.s3_folder, *own_sockets)
        return ScriptBox(
            model=os.path.realpath(model),
            scratch=os.path.realpath(scratch),
            compiled=os.path.realpath(compiled) if compiled else "",
            reads=(*map(os.path.realpath, (*reads, *trusted)), *settings.script_reads),
            writes=settings.script_writes,
            hidden=tuple(dict.fromkeys(os.path.realpath(path) for path in hidden if path)),
            network=settings.script_network,
            ports=settings.script_ports,
            processes=settings.script_processes,
            disk_bytes=settings.script_disk_bytes,
            files=settings.script_files,
            memory_bytes=memory_bytes,
            landlock=self._abilities.landlock,
            filters=self._abilities.filters,
            mounts=self._abilities.mounts,
        )


def lacking(settings: Settings, abilities: Abilities | None = None) -> list[str]:
    """What this instance's scripts can do although a box should keep them from it, in words."""
    if settings.container is not None or not settings.scripts:
        return []
    if not settings.script_box:
        return ["TORPOR_SCRIPT_BOX=false leaves scripts without a box"]
    return (abilities or found()).missing(settings.script_network == "endpoint")


def ensure_isolation(settings: Settings, abilities: Abilities | None = None) -> None:
    """Raises BadSetting if scripts must be in whole boxes, or connect to the endpoint only, and the machine cannot hold
    them to that."""
    is_boxed = settings.container is None and settings.scripts and settings.script_box
    if is_boxed and settings.script_network == "endpoint" and not (abilities or found()).ports:
        raise BadSetting(
            "TORPOR_SCRIPT_NETWORK=endpoint needs seccomp filters and Landlock of version 4 (Linux 6.7), which this "
            "machine lacks: choose allow or refuse"
        )
    if settings.require_isolation and (lacks := lacking(settings, abilities)):
        raise BadSetting(f"TORPOR_REQUIRE_ISOLATION=true, and {'; '.join(lacks)}")


async def removed(scratch: Path) -> None:
    """Remove a temporary folder on a thread, whatever rights a script took from its folders."""
    await on_thread(remove, scratch)
