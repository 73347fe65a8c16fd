"""A script's own view of the file system: what it writes is in its temporary folder, and goes with that.

Its model's folder stays as it was unpacked: an overlay has what the script changes in it. `/tmp` and `/dev/shm` are the
script's own, and so is `/opt/ml` for a script that needs it. Where the disk can be no layer of an overlay, the model's
folder is a copy; so it is, at another path, where this machine allows no mount namespace.
"""

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack

from torpor_container.frozen_class import frozen
from torpor_container.isolation.places import SHARED_MEMORY as SHARED
from torpor_container.processes.namespaces import MS_NODEV, MS_NOSUID, View, opened, own_view

TEMPORARY_PLACE = "/tmp"

TEMPORARY, CHANGES, WORK, OUTPUT = "tmp", "model", "work", "output"
"""Folders in a script's temporary one: its `/tmp`, what it changes in its model's folder, the kernel's own, its output.
"""
HIDDEN = (
    "kcore",
    "keys",
    "key-users",
    "kpagecount",
    "kpageflags",
    "latency_stats",
    "locks",
    "sched_debug",
    "timer_list",
)
"""Files of /proc that tell of other programs."""
COUNTED = (TEMPORARY, CHANGES, OUTPUT)
"""Those whose files are the script's."""

COPIED_MAX_BYTES = 64 * 1024 * 1024
"""Larger files would hold up the start of a script, and take the disk twice."""


@frozen
class Wanted:
    """What a view shows, as real paths: the model's folder, over it what is in the folder `compiled` if that is there,
    and over both the changes in `scratch`; what the script `reads` and
    `writes` beside, which stays where it is; and at further paths (`shown`) these folders, or one for output (None).

    `shared_bytes` and `files` bound its shared memory. `processes`: whether /proc should have only those that it may
    trace, which Landlock leaves to it.
    """

    model: str
    scratch: str
    compiled: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    shared_bytes: int
    files: int
    shown: Mapping[str, str | None]
    processes: bool = False


@frozen
class ScriptView:
    """What a script sees: its model's folder, its temporary one, and all that it may write. `shared`: a descriptor of
    its own shared memory; None where that is the machine's. `processes`: its /proc has no processes but the script's.
    """

    model: str
    temporary: str
    writable: tuple[str, ...]
    shared: int | None = None
    processes: bool = False

    def at(self, path: str, model: str) -> str:
        """The path of what lies at `path`, maybe in the folder `model` of the machine."""
        return self.model + path[len(model) :] if _is_within(path, model) else path


def take(wanted: Wanted) -> ScriptView:
    """Give this process, which has one thread, its view. Raises NoNamespace, after which the process should end."""
    names = (TEMPORARY, CHANGES, WORK, *([OUTPUT] if None in wanted.shown.values() else []))
    own = {name: os.path.join(wanted.scratch, name) for name in names}
    for folder in own.values():
        os.mkdir(folder, 0o700)
    covered, apart = (not any(_is_within(one, place) for place in wanted.writes) for one in (TEMPORARY_PLACE, SHARED))
    writable = [wanted.model, temporary := TEMPORARY_PLACE if covered else own[TEMPORARY]]
    shared = None
    with own_view() as view, ExitStack() as held:
        model, *folders = (opened(path, held, os.O_DIRECTORY) for path in (wanted.model, *own.values()))
        inside = dict(zip(own, folders, strict=True))
        lower = [opened(wanted.compiled, held), model] if os.path.isdir(wanted.compiled) else [model]
        if covered:
            _cover_temporary(view, inside[TEMPORARY], wanted, held)
        _show_model(view, wanted.model, lower, inside[CHANGES], inside[WORK])
        if apart:
            view.memory(SHARED, MS_NOSUID | MS_NODEV, _bounded(wanted))
            shared = os.open(SHARED, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            writable.append(SHARED)
        for target, source in sorted(wanted.shown.items()):
            view.bind(inside[OUTPUT] if source is None else opened(source, held, os.O_DIRECTORY), target)
            if source is None or _is_within(source, wanted.model):
                writable.append(target)
        processes = view.processes(HIDDEN) if wanted.processes else False
    return ScriptView(wanted.model, temporary, tuple(writable), shared, processes)


def copied(wanted: Wanted) -> ScriptView:
    """The view of a process that can have no other: its model's folder is a copy at another path. Large files are links
    to those of the folder itself, which the script may read."""
    model, temporary = (os.path.join(wanted.scratch, name) for name in (CHANGES, TEMPORARY))
    os.mkdir(temporary, 0o700)
    shutil.copytree(wanted.model, model, symlinks=True, copy_function=_copy_or_link)
    return ScriptView(model, temporary, (model, temporary))


def _copy_or_link(source: str, target: str) -> None:
    if os.path.getsize(source) > COPIED_MAX_BYTES:
        os.symlink(source, target)
    else:
        shutil.copy2(source, target)


def _cover_temporary(view: View, own: int, wanted: Wanted, held: ExitStack) -> None:
    """Cover /tmp, and show in it what the script reaches there anyway. It may write all of its own /tmp: what it only
    reads cannot be written there by anybody."""
    reads, writes = ([one for one in places if _is_below(one, wanted)] for places in (wanted.reads, wanted.writes))
    left = [(place, opened(place, held)) for place in _outermost((*reads, *writes))]
    written = [(place, opened(place, held)) for place in _outermost(writes)]
    view.bind(own, TEMPORARY_PLACE, private=True)
    for place, descriptor in left:
        view.bind(descriptor, place, readonly=True)
    for place, descriptor in written:
        view.bind(descriptor, place)


def _is_below(place: str, wanted: Wanted) -> bool:
    return _is_within(place, TEMPORARY_PLACE) and place != TEMPORARY_PLACE and not _is_within(place, wanted.model)


def _show_model(view: View, path: str, lower: Sequence[int], changes: int, work: int) -> None:
    try:
        view.layers(lower, changes, work, path)
    except OSError:  # the disk of the temporary folder can be no layer
        _copy(f"/proc/self/fd/{lower[-1]}", f"/proc/self/fd/{changes}")
        view.bind(changes, path)


def _copy(folder: str, into: str) -> None:
    shutil.copytree(folder, into, symlinks=True, dirs_exist_ok=True)


def _bounded(wanted: Wanted) -> str:
    return f"mode=1777,size={wanted.shared_bytes},nr_inodes={wanted.files + 1}"


def _outermost(places: Iterable[str]) -> list[str]:
    """Those that lie in no other one and are there."""
    found = list[str]()
    for place in sorted(places):
        if not any(_is_within(place, one) for one in found) and os.path.exists(place):
            found.append(place)
    return found


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
