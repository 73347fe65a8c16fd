"""The calls of the kernel that foreign code may not make, as a table. A script that makes one gets an ordinary error.

They reach other processes, the kernel itself, or ways around the other rules. Calls that are newer than the table are
refused too. The numbers are those of asm/unistd_64.h (x86_64) and asm-generic/unistd.h (aarch64); None where an
architecture does not have the call.
"""

import errno
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from torpor_container.frozen_class import frozen


@frozen
class SystemCall:
    """One row. `only`: the call is allowed with these values of the argument `argument`. `without`: it is allowed
    without these bits in it. `matching`: it is refused where the bits of a mask have a value (mask, value), but for
    values of `only`. With none of these, it is refused always. `where`: the row holds only where an argument (its
    place, bits) has one of these bits."""

    name: str
    x86_64: int | None
    aarch64: int | None
    argument: int = 0
    only: tuple[int, ...] = ()
    without: int = 0
    matching: tuple[tuple[int, int], ...] = ()
    where: tuple[int, int] | None = None
    error: int = errno.EPERM

    def number(self, machine: str) -> int | None:
        """Its number on an architecture that has it."""
        return {"x86_64": self.x86_64, "aarch64": self.aarch64}[machine]


MACHINES: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""The architectures whose numbers are here, each by its AUDIT_ARCH."""

LAST: Final = 462
"""The newest call that was looked at when the table was written (mseal, Linux 6.10); from 424 on, the numbers are the
same on every architecture. Later ones do not exist for a script, so that libraries use what came before them: the calls
of Linux 6.13 for extended attributes and those of 6.17 for attributes of files would get around the table."""

NEW_NAMESPACES = 0x7E020080
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET and NEWTIME."""
UNTRACED = 0x00800000
"""CLONE_UNTRACED"""

AF_INET, AF_INET6, AF_NETLINK = 2, 10, 16
WITH_NETWORK = (AF_INET, AF_INET6, AF_NETLINK)
"""Families of sockets. The library asks the kernel for this machine's addresses by AF_NETLINK. Unix sockets, which lead
to instances and to the zygote, are not among them: a script may only make a pair of them."""
NO_FAMILY = (-1,)
AF_UNIX = 1
STREAM, SEQPACKET, NONBLOCK, CLOEXEC = 1, 5, 0x800, 0x80000
"""SOCK_STREAM and SOCK_SEQPACKET, and the flags beside them."""
FLAGS = (0, NONBLOCK, CLOEXEC, NONBLOCK | CLOEXEC)
TCP = 6
FAST_OPEN = 0x20000000
"""MSG_FASTOPEN"""

WHOLE = 0xFFFFFFFF
SET_LEASE, SET_DUMPABLE = 1024, 4
"""F_SETLEASE and PR_SET_DUMPABLE"""
NEW_LISTENER = 8
"""SECCOMP_FILTER_FLAG_NEW_LISTENER"""
SET_ID_BITS = 0o6000
CREATE = 0x40 | 0x400000
"""O_CREAT, and the bit of O_TMPFILE"""

OF_FILE_SYSTEMS = ("f", "X", "v")
FILE_EXTENTS = 0xC020660B
"""FS_IOC_FIEMAP, which reads."""
TERMINAL_INPUT, TERMINAL_CONSOLE = 0x5412, 0x541C
"""TIOCSTI and TIOCLINUX: they write what a terminal then reads as typed."""


def _changing(kind: str) -> tuple[tuple[int, int], ...]:
    """Requests of ioctl with this letter that do more than read (`_IOR`): they set attributes, versions, encryption."""
    return tuple((0xC000FF00, direction | ord(kind) << 8) for direction in (0, 0x40000000, 0xC0000000))


OF_OTHERS: Final[tuple[SystemCall, ...]] = (
    SystemCall("ptrace", 101, 117),
    SystemCall("process_vm_readv", 310, 270),
    SystemCall("process_vm_writev", 311, 271),
    SystemCall("process_madvise", 440, 440),
    SystemCall("process_mrelease", 448, 448),
    SystemCall("pidfd_getfd", 438, 438),
    SystemCall("kcmp", 312, 272),
    SystemCall("migrate_pages", 256, 238),
    SystemCall("move_pages", 279, 239),
    SystemCall("prlimit64", 302, 261, only=(0,)),
    SystemCall("setpriority", 141, 140, only=(0,)),
    SystemCall("setpriority", 141, 140, argument=1, only=(0,)),
    SystemCall("ioprio_set", 251, 30),
    SystemCall("sched_setaffinity", 203, 122, only=(0,)),
    SystemCall("sched_setscheduler", 144, 119, only=(0,)),
    SystemCall("sched_setparam", 142, 118, only=(0,)),
    SystemCall("sched_setattr", 314, 274, only=(0,)),
    SystemCall("shmget", 29, 194),
    SystemCall("shmat", 30, 196),
    SystemCall("shmctl", 31, 195),
    SystemCall("semget", 64, 190),
    SystemCall("semop", 65, 193),
    SystemCall("semctl", 66, 191),
    SystemCall("semtimedop", 220, 192),
    SystemCall("msgget", 68, 186),
    SystemCall("msgsnd", 69, 189),
    SystemCall("msgrcv", 70, 188),
    SystemCall("msgctl", 71, 187),
    SystemCall("mq_open", 240, 180),
    SystemCall("mq_unlink", 241, 181),
    SystemCall("fcntl", 72, 25, 1, matching=((WHOLE, SET_LEASE),), error=errno.EACCES),
    SystemCall("prctl", 157, 167, 0, matching=((WHOLE, SET_DUMPABLE),)),
)
"""These read or change another process of the same user, or what it shares. An argument of some is a process, 0 for the
caller. A lease on a file keeps whoever opens it waiting. A process that is not dumpable cannot be read by its guardian,
which counts what it holds."""

OF_KERNEL: Final[tuple[SystemCall, ...]] = (
    SystemCall("kexec_load", 246, 104),
    SystemCall("kexec_file_load", 320, 294),
    SystemCall("init_module", 175, 105),
    SystemCall("finit_module", 313, 273),
    SystemCall("delete_module", 176, 106),
    SystemCall("reboot", 169, 142),
    SystemCall("swapon", 167, 224),
    SystemCall("swapoff", 168, 225),
    SystemCall("acct", 163, 89),
    SystemCall("settimeofday", 164, 170),
    SystemCall("clock_settime", 227, 112),
    SystemCall("clock_adjtime", 305, 266),
    SystemCall("adjtimex", 159, 171),
    SystemCall("sethostname", 170, 161),
    SystemCall("setdomainname", 171, 162),
    SystemCall("iopl", 172, None),
    SystemCall("ioperm", 173, None),
    SystemCall("syslog", 103, 116),
    SystemCall("vhangup", 153, 58),
    SystemCall("quotactl", 179, 60),
    SystemCall("quotactl_fd", 443, 443),
    SystemCall("bpf", 321, 280),
    SystemCall("perf_event_open", 298, 241),
    SystemCall("userfaultfd", 323, 282),
    SystemCall("add_key", 248, 217),
    SystemCall("request_key", 249, 218),
    SystemCall("keyctl", 250, 219),
    SystemCall("fanotify_init", 300, 262),
    SystemCall("memfd_secret", 447, 447, error=errno.ENOSYS),
)
"""These change the machine, or are parts of the kernel that models do not need and attackers like."""

AROUND: Final[tuple[SystemCall, ...]] = (
    SystemCall("mount", 165, 40),
    SystemCall("umount2", 166, 39),
    SystemCall("pivot_root", 155, 41),
    SystemCall("chroot", 161, 51),
    SystemCall("move_mount", 429, 429),
    SystemCall("open_tree", 428, 428),
    SystemCall("fsopen", 430, 430),
    SystemCall("fsconfig", 431, 431),
    SystemCall("fsmount", 432, 432),
    SystemCall("fspick", 433, 433),
    SystemCall("mount_setattr", 442, 442),
    SystemCall("unshare", 272, 97),
    SystemCall("setns", 308, 268),
    SystemCall("statmount", 457, 457, error=errno.ENOSYS),
    SystemCall("listmount", 458, 458, error=errno.ENOSYS),
    SystemCall("name_to_handle_at", 303, 264),
    SystemCall("open_by_handle_at", 304, 265),
    SystemCall("io_uring_setup", 425, 425, error=errno.ENOSYS),
    SystemCall("io_uring_enter", 426, 426, error=errno.ENOSYS),
    SystemCall("io_uring_register", 427, 427, error=errno.ENOSYS),
    SystemCall("openat2", 437, 437, error=errno.ENOSYS),
    SystemCall("seccomp", 317, 277, 1, without=NEW_LISTENER, error=errno.EACCES),
    SystemCall("clone", 56, 220, without=NEW_NAMESPACES | UNTRACED),
    SystemCall("clone3", 435, 435, error=errno.ENOSYS),
    SystemCall("socketpair", 53, 199, only=(AF_UNIX,), error=errno.EACCES),
    SystemCall(
        "socketpair",
        53,
        199,
        1,
        tuple(kind | flags for kind in (STREAM, SEQPACKET) for flags in FLAGS),
        error=errno.EACCES,
    ),
)
"""These lead around the other rules. Of clone3 and openat2 the filter cannot see the arguments: without them, programs
use clone and openat. A filter with a listener of the script's own would answer in its guardian's place. An end of a
pair of datagram sockets (SOCK_DGRAM, SOCK_RAW) sends to every Unix datagram socket of the machine, and one of another
family (AF_TIPC) to other machines. An end of the other pairs stays connected to its peer."""

OF_FILES: Final[tuple[SystemCall, ...]] = (
    SystemCall(
        "ioctl",
        16,
        29,
        1,
        only=(FILE_EXTENTS,),
        matching=(
            *(one for kind in OF_FILE_SYSTEMS for one in _changing(kind)),
            (WHOLE, TERMINAL_INPUT),
            (WHOLE, TERMINAL_CONSOLE),
        ),
    ),
    SystemCall("open", 2, None, 2, without=SET_ID_BITS, where=(1, CREATE)),
    SystemCall("openat", 257, 56, 3, without=SET_ID_BITS, where=(2, CREATE)),
    SystemCall("creat", 85, None, 1, without=SET_ID_BITS),
    SystemCall("mknod", 133, None, 1, without=SET_ID_BITS),
    SystemCall("mknodat", 259, 33, 2, without=SET_ID_BITS),
)
"""These change what Landlock does not hold of a file that they can open: its attributes (`chattr`), its project, a seal
of its content. A program that others may run as its owner (setuid) is a way out of the box."""

REFUSED: Final = (*OF_OTHERS, *OF_KERNEL, *AROUND, *OF_FILES)

FORKS: Final[tuple[SystemCall, ...]] = (
    SystemCall("clone", 56, 220),
    SystemCall("fork", 57, None),
    SystemCall("vfork", 58, None),
)
"""The calls that make a process or a thread."""

METADATA: Final[tuple[SystemCall, ...]] = (
    SystemCall("chmod", 90, None),
    SystemCall("fchmod", 91, 52),
    SystemCall("fchmodat", 268, 53),
    SystemCall("fchmodat2", 452, 452),
    SystemCall("chown", 92, None),
    SystemCall("fchown", 93, 55),
    SystemCall("lchown", 94, None),
    SystemCall("fchownat", 260, 54),
    SystemCall("utime", 132, None),
    SystemCall("utimes", 235, None),
    SystemCall("futimesat", 261, None),
    SystemCall("utimensat", 280, 88),
    SystemCall("setxattr", 188, 5),
    SystemCall("lsetxattr", 189, 6),
    SystemCall("fsetxattr", 190, 7),
    SystemCall("removexattr", 197, 14),
    SystemCall("lremovexattr", 198, 15),
    SystemCall("fremovexattr", 199, 16),
    SystemCall("inotify_add_watch", 254, 27),
)
"""The calls that change a file's mode, owner, dates and extended attributes, which Landlock does not hold, and the one
that watches a file or folder."""


def _socket(argument: int, *only: int) -> SystemCall:
    return SystemCall("socket", 41, 198, argument, only, error=errno.EACCES)


NETWORKS: Final[Mapping[str, tuple[SystemCall, ...]]] = MappingProxyType(
    {
        "allow": (_socket(0, *WITH_NETWORK),),
        "endpoint": (
            _socket(0, AF_INET, AF_INET6),
            _socket(1, *(STREAM | flags for flags in FLAGS)),
            _socket(2, 0, TCP),
            SystemCall("listen", 50, 201, error=errno.EACCES),
            SystemCall("sendto", 44, 206, 3, without=FAST_OPEN, error=errno.EACCES),
            SystemCall("sendmsg", 46, 211, 2, without=FAST_OPEN, error=errno.EACCES),
            SystemCall("sendmmsg", 307, 269, 3, without=FAST_OPEN, error=errno.EACCES),
        ),
        "refuse": (_socket(0, *NO_FAMILY),),
    }
)
"""The rows for what a script may connect to. With `endpoint`, Landlock holds the ports, and these rows refuse what it
does not see: any transport but TCP (UDP, and so DNS; MPTCP; SCTP), a port that the kernel chooses for a listener, and a
connection that begins with its data. All rows of a call must allow it."""
