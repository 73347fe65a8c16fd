"""The box of a script's process: what it may reach and take, and the steps by which the process enters it for good."""

import json
import os
import resource
import socket
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

from torpor_container.frozen_class import frozen
from torpor_container.isolation import landlock, places, seccomp, views
from torpor_container.isolation.abilities import Abilities, found
from torpor_container.isolation.kernel import give_up_privileges, machine
from torpor_container.isolation.landlock import READ, WRITE
from torpor_container.isolation.system_calls import NETWORKS, REFUSED
from torpor_container.processes.memory import end_before_others
from torpor_container.processes.namespaces import NoNamespace

FILES_MAX = 1024
"""Open descriptors."""
SCORE = 700
"""When memory runs out, the kernel ends a script before an instance, and after a process of trials."""
TEMPORARY = ("TMPDIR", "TEMP", "TMP", "HOME")
"""Variables that name the script's own temporary folder. Programs keep files of their own in HOME."""
TRACED, NOT_TRACED = b".", b"!"
"""What the guardian says before the process enters its box: whether it traces it. It has counted the files by then."""
MESSAGE_BYTES = 65536


@frozen
class ScriptBox:
    """What one script may reach and take. Paths are absolute; sizes in bytes.

    `model` is its model's folder, and `scratch` its temporary one. `compiled` is the place of its compiled modules,
    which the guardian makes; empty for none. `reads` and `writes` are further places, which may
    lie within what is `hidden`. `network` is one of `settings.SCRIPT_NETWORKS`, and `ports` are for `endpoint`.
    `processes` bounds processes and threads together, `disk_bytes` and `files` what `scratch` has beyond what it had
    first, and `memory_bytes` what all processes hold together.
    """

    model: str
    scratch: str
    compiled: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    hidden: tuple[str, ...]
    network: str
    ports: tuple[int, ...]
    processes: int
    disk_bytes: int
    files: int
    memory_bytes: int
    landlock: int
    filters: bool
    mounts: bool

    @property
    def abilities(self) -> Abilities:
        """What the machine can hold it to."""
        return Abilities(self.landlock, self.filters, self.mounts)


def enter(
    box: ScriptBox, guardian: socket.socket, kept: Iterable[int], shown: Mapping[str, str | None]
) -> views.ScriptView:
    """Enter the box: this process, which has one thread, and all that it starts. The guardian, which traces it, learns
    over its line what the script may change (`told`). Descriptors other than the first three, `kept` and the guardian's
    line are closed. `shown` has further paths of the script's view (`views.Wanted`). Returns the view.

    Raises OSError where the machine has an ability and it fails all the same, and NoNamespace, where it lacks a view.
    """
    close_others({0, 1, 2, guardian.fileno(), *(one for one in kept if one >= 0)})
    readable = places.readable(places.of_python(), box.hidden)
    view = _view(box, readable, shown)
    os.environ.update(dict.fromkeys(TEMPORARY, view.temporary))
    tempfile.tempdir = None  # the zygote may have looked it up already
    end_before_others(SCORE)
    limit(box.disk_bytes)
    if box.landlock or box.filters:
        give_up_privileges()
    if box.landlock:
        _keep_own_process()
        ports = box.ports if box.network == "endpoint" else None
        landlock.restrict(_rules(box, readable, view), box.landlock, ports=ports)
    with guardian:
        _tell(guardian, box, view)
        answer = guardian.recv(1)  # the guardian has counted what the folders have first
        if box.filters:
            if answer != TRACED:
                raise PermissionError("its guardian may not trace it, as the box needs (ptrace(2))")
            seccomp.install(filter_of(box.network))
    return view


@cache
def filter_of(network: str) -> bytes:
    """The filter of a box's calls. Made once for each network, in the zygote."""
    return seccomp.packed(seccomp.program((*NETWORKS[network], *REFUSED), machine(), asks=True))


def prepare() -> None:
    """Do once, in the zygote, what the box of every script needs alike. It changes nothing."""
    places.readable(places.of_python({}), ())
    if found().filters:
        for network in NETWORKS:
            filter_of(network)


def _tell(guardian: socket.socket, box: ScriptBox, view: views.ScriptView) -> None:
    """Tell the guardian what the script may change, and give it the script's shared memory (`told`)."""
    own = json.dumps((*view.writable, *box.writes)).encode()
    socket.send_fds(guardian, [own + b"\n"], [] if view.shared is None else [view.shared])
    if view.shared is not None:
        os.close(view.shared)


def told(guardian: socket.socket) -> tuple[tuple[str, ...], int | None]:
    """What a script says on the other end of a line as it enters its box: the places whose files it may change, and a
    descriptor of its own shared memory, if it has one. Nothing from a script that ended before."""
    said, given = b"", list[int]()
    while not said.endswith(b"\n"):
        part, descriptors, _, _ = socket.recv_fds(guardian, MESSAGE_BYTES, 1)
        said, given = said + part, given + descriptors
        if not part:
            return (), None
    return tuple(json.loads(said)), given[0] if given else None


def _view(box: ScriptBox, readable: Sequence[str], shown: Mapping[str, str | None]) -> views.ScriptView:
    """Take the view, and lead variables and the working directory to a copy of the model's folder."""
    reads = (*box.reads, *readable)
    wanted = views.Wanted(
        box.model,
        box.scratch,
        box.compiled,
        reads,
        box.writes,
        box.memory_bytes,
        box.files,
        shown,
        _hides_processes(box),
    )
    if box.mounts:
        return views.take(wanted)
    if shown:
        raise NoNamespace("this machine allows no mount namespace")
    view = views.copied(wanted)
    os.environ.update({name: view.at(value, box.model) for name, value in os.environ.items()})
    os.chdir(view.model)
    return view


def enter_for_reading(abilities: Abilities) -> None:
    """Keep this process, which reads files that nobody vouched for, from the network, from other processes, and from
    every file that it could write but temporary ones. It may read what its user may. Raises OSError."""
    if abilities.landlock or abilities.filters:
        give_up_privileges()
    if abilities.landlock:
        devices = [(device, landlock.USE) for device in places.DEVICES]
        own = [(places.SHARED_MEMORY, landlock.SHARE), (tempfile.gettempdir(), WRITE)]
        landlock.restrict([*devices, *own], abilities.landlock, WRITE & ~READ)
    if abilities.filters:
        seccomp.install(seccomp.packed(seccomp.program((*NETWORKS["refuse"], *REFUSED), machine())))


def _hides_processes(box: ScriptBox) -> bool:
    """Landlock keeps it from tracing others, and so from seeing them in a /proc of its own."""
    return bool(box.landlock) and places.PROCESSES not in box.reads


def _rules(box: ScriptBox, readable: Sequence[str], view: views.ScriptView) -> list[places.Rule]:
    reads = (view.at(path, box.model) for path in box.reads)
    processes = (places.PROCESSES,) if view.processes else ()
    return places.rules((*box.writes, *view.writable), (box.model, *reads, *readable, *processes))


def _keep_own_process() -> None:
    """Keep the process's own folder in /proc known to the kernel: a rule is for the folder that it has in memory."""
    os.set_inheritable(os.open(places.OWN_PROCESS, os.O_PATH), False)


def close_others(kept: Iterable[int], close: Callable[[int, int], None] = os.closerange) -> None:
    """Close every descriptor that is not one of these."""
    after = 0
    for one in sorted(kept):
        if one > after:  # Python closes everything for an empty range that begins at 0
            close(after, one)
        after = one + 1
    close(after, max(after, os.sysconf("SC_OPEN_MAX")))


def limit(disk_bytes: int) -> None:
    """Limit each file, the descriptors, core files, and what memory limit there is, for good."""
    memory_bytes, _ = resource.getrlimit(resource.RLIMIT_DATA)
    most = ((resource.RLIMIT_DATA, memory_bytes), (resource.RLIMIT_FSIZE, disk_bytes))
    for kind, value in (*most, (resource.RLIMIT_NOFILE, FILES_MAX), (resource.RLIMIT_CORE, 0)):
        _, hard = resource.getrlimit(kind)
        bound = (
            value if hard == resource.RLIM_INFINITY else hard if value == resource.RLIM_INFINITY else min(value, hard)
        )
        resource.setrlimit(kind, (bound, bound))
