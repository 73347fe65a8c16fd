"""What this machine can hold a script to, and in words, what it cannot."""

from functools import cache

from torpor_container.frozen_class import frozen
from torpor_container.isolation import landlock, seccomp
from torpor_container.isolation.tracing import tracer
from torpor_container.processes import namespaces


@frozen
class Abilities:
    """The kernel's version of Landlock, 0 for none, whether a filter of calls may ask a process's tracer, and whether a
    process may have a view of the file system of its own."""

    landlock: int
    filters: bool
    mounts: bool

    @property
    def ports(self) -> bool:
        """Whether it can hold a script's connections to the ports of its endpoint."""
        return self.filters and self.landlock >= landlock.PORTS_SINCE

    def missing(self, endpoint_only: bool = False) -> list[str]:
        """What a script can still do on this machine. `endpoint_only`: it should connect to its endpoint only."""
        lacks = []
        if endpoint_only and not self.ports:
            lacks.append(
                "scripts can connect to whatever this machine reaches: "
                f"it takes seccomp filters and Landlock of version {landlock.PORTS_SINCE} (Linux 6.7) to hold them to "
                "this endpoint"
            )
        if not self.landlock:
            lacks.append(
                "scripts can use every file of this user, and send signals to its processes: Linux has no Landlock here"
            )
        elif self.landlock < landlock.ENFORCED_BY:
            lacks.append(
                "scripts can send signals to every process of this user: "
                f"Landlock is of version {self.landlock}, and {landlock.ENFORCED_BY} (Linux 6.12) keeps signals in"
            )
        if not self.filters:
            lacks.append(
                "scripts can make every call of the kernel, change modes and dates of every file of this user, reach "
                "the network and start processes without end: Linux takes no seccomp filter here, or lets no process "
                "trace its children (kernel.yama.ptrace_scope)"
            )
        if not self.mounts:
            lacks.append(
                "scripts share /dev/shm with this machine's programs, without a bound, and leave files there: "
                "Linux allows no mount namespace here"
            )
        return lacks


@cache
def found() -> Abilities:
    """This machine's. They do not change while it runs."""
    return Abilities(landlock.version(), seccomp.available() and tracer.available(), namespaces.available())
