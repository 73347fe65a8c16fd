"""Seccomp: a filter in the kernel that refuses this process some of the kernel's calls, for good.

Source: seccomp(2), linux/filter.h, linux/seccomp.h. The filter reads the number of a call and the lower half of one
argument: it cannot follow pointers. The kernel too reads no more than that half of each argument that the table has.
"""

import ctypes
import errno
import struct
from collections.abc import Callable, Iterable

from torpor_container.isolation.kernel import machine, syscall
from torpor_container.isolation.system_calls import FORKS, MACHINES, SystemCall

NUMBERS = {"x86_64": 317, "aarch64": 277}
"""The numbers of seccomp(2) itself."""

SET_MODE_FILTER, GET_ACTION_AVAIL = 1, 2
ALL_THREADS, NO_MITIGATIONS, NEW_LISTENER = 1, 4, 8
"""SECCOMP_FILTER_FLAG_TSYNC, SPEC_ALLOW (older kernels slow a filtered process down otherwise) and NEW_LISTENER."""

ALLOW, ERRNO, ASK, KILL = 0x7FFF0000, 0x00050000, 0x7FC00000, 0x80000000
"""SECCOMP_RET_*. ASK: another process, which holds the listener, decides."""

LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
"""BPF: LD|W|ABS, JMP|JEQ|K, JMP|JGE|K, JMP|JSET|K, RET|K."""
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16
"""Offsets in `struct seccomp_data`. An argument has 8 bytes, the lower half first on both architectures."""
X32 = 0x40000000
"""Numbers from here on are of another convention for calls, which the table does not have."""

Instruction = tuple[int, int, int, int]
"""Code, the jumps if true and if false, and the value."""
Call = Callable[..., int]


def program(refused: Iterable[SystemCall], of: str, asks: bool = False) -> list[Instruction]:
    """The filter for an architecture. `asks`: the holder of the listener decides each new process and thread."""
    rules = [
        (LOAD, 0, 0, ARCHITECTURE),
        (EQUAL, 1, 0, MACHINES[of]),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER),
        (AT_LEAST, 0, 1, X32),
        (RETURN, 0, 0, ERRNO | errno.ENOSYS),
    ]
    for row in refused:
        if (number := row.number(of)) is not None:
            test = _test(row)
            rules += [(EQUAL, 0, len(test), number), *test]
    for row in FORKS if asks else ():
        if (number := row.number(of)) is not None:
            rules += [(EQUAL, 0, 1, number), (RETURN, 0, 0, ASK)]
    return [*rules, (RETURN, 0, 0, ALLOW)]


def _test(row: SystemCall) -> list[Instruction]:
    """What follows once the number is the row's. It leaves the number loaded for the rows after it."""
    refusal = (RETURN, 0, 0, ERRNO | row.error)
    argument = (LOAD, 0, 0, ARGUMENTS + 8 * row.argument)
    if row.only:
        found = [(EQUAL, len(row.only) - at, 0, value & 0xFFFFFFFF) for at, value in enumerate(row.only)]
        return [argument, *found, refusal, (LOAD, 0, 0, NUMBER)]
    if row.without:
        return [argument, (ANY_BIT, 0, 1, row.without), refusal, (LOAD, 0, 0, NUMBER)]
    return [refusal]


def available(call: Call = syscall, of: str | None = None) -> bool:
    """Whether the kernel takes filters that ask another process, and the table has this architecture's numbers."""
    of = machine() if of is None else of
    if of not in NUMBERS:
        return False
    action = ctypes.c_uint32(ASK)
    try:
        return call(NUMBERS[of], GET_ACTION_AVAIL, 0, ctypes.byref(action)) == 0
    except OSError:
        return False


def install(rules: list[Instruction], asks: bool = False, call: Call = syscall) -> int | None:
    """Filter the calls of this process, all its threads, and all that it starts. The listener's descriptor, if it asks.

    It must have no new privileges (`kernel.give_up_privileges`), and one thread if it asks. Raises OSError.
    """
    packed = b"".join(struct.pack("=HBBI", *rule) for rule in rules)
    buffer = ctypes.create_string_buffer(packed, len(packed))
    given = ctypes.create_string_buffer(struct.pack("@HP", len(rules), ctypes.addressof(buffer)))
    flags = NO_MITIGATIONS | (NEW_LISTENER if asks else ALL_THREADS)
    listener = call(NUMBERS[machine()], SET_MODE_FILTER, flags, given)
    return listener if asks else None
