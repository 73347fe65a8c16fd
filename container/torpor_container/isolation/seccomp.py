"""Seccomp: a filter in the kernel that refuses this process some of the kernel's calls, for good.

Source: seccomp(2), linux/filter.h, linux/seccomp.h. The filter reads the number of a call and the lower half of one
argument: it cannot follow pointers. The kernel too reads no more than that half of each argument that the table has.
"""

import ctypes
import errno
import struct
from collections.abc import Callable, Iterable

from torpor_container.isolation.kernel import machine, syscall
from torpor_container.isolation.system_calls import FORKS, LAST, MACHINES, METADATA, SystemCall

NUMBERS = {"x86_64": 317, "aarch64": 277}
"""The numbers of seccomp(2) itself."""

SET_MODE_FILTER, GET_ACTION_AVAIL = 1, 2
ALL_THREADS, NO_MITIGATIONS = 1, 4
"""SECCOMP_FILTER_FLAG_TSYNC, and SPEC_ALLOW: older kernels slow a filtered process down otherwise."""

ALLOW, ERRNO, ASK, KILL = 0x7FFF0000, 0x00050000, 0x7FF00000, 0x80000000
"""SECCOMP_RET_*. ASK (SECCOMP_RET_TRACE): the process that traces the caller decides; without one, the call fails with
ENOSYS."""

LOAD, MASK, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
"""BPF: LD|W|ABS, ALU|AND|K, JMP|JEQ|K, JMP|JGE|K, JMP|JSET|K, RET|K."""
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16
"""Offsets in `struct seccomp_data`. An argument has 8 bytes, the lower half first on both architectures."""
Instruction = tuple[int, int, int, int]
INSTRUCTION = "=HBBI"
"""How the kernel packs one."""
"""Code, the jumps if true and if false, and the value."""
Call = Callable[..., int]


def program(refused: Iterable[SystemCall], of: str, asks: bool = False) -> list[Instruction]:
    """The filter for an architecture. `asks`: the tracer decides each new process and thread, and each change of a
    file's metadata; without it, processes may start and metadata may not change."""
    rules = [
        (LOAD, 0, 0, ARCHITECTURE),
        (EQUAL, 1, 0, MACHINES[of]),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER),
        (AT_LEAST, 0, 1, LAST + 1),  # of later kernels, and of another convention for calls (x32)
        (RETURN, 0, 0, ERRNO | errno.ENOSYS),
    ]
    for row in refused:
        if (number := row.number(of)) is not None:
            test = _test(row)
            rules += [(EQUAL, 0, len(test), number), *test]
    for row in (*FORKS, *METADATA) if asks else METADATA:
        if (number := row.number(of)) is not None:
            rules += [(EQUAL, 0, 1, number), (RETURN, 0, 0, ASK if asks else ERRNO | row.error)]
    return [*rules, (RETURN, 0, 0, ALLOW)]


def _test(row: SystemCall) -> list[Instruction]:
    """What follows once the number is the row's. It leaves the number loaded for the rows after it."""
    refusal = (RETURN, 0, 0, ERRNO | row.error)
    argument, number = (LOAD, 0, 0, ARGUMENTS + 8 * row.argument), (LOAD, 0, 0, NUMBER)
    if row.matching:
        found = [argument, *_matched(row), refusal, number]
    elif row.only:
        allowed = [(EQUAL, len(row.only) - at, 0, value & 0xFFFFFFFF) for at, value in enumerate(row.only)]
        found = [argument, *allowed, refusal, number]
    elif row.without:
        found = [argument, (ANY_BIT, 0, 1, row.without), refusal, number]
    else:
        found = [refusal]
    if row.where is not None:
        place, bits = row.where
        return [(LOAD, 0, 0, ARGUMENTS + 8 * place), (ANY_BIT, 0, len(found) - 1, bits), *found]
    return found


def _matched(row: SystemCall) -> list[Instruction]:
    """What follows once the argument is loaded: it goes on to the refusal, which is next, or to what comes after it."""
    left = 3 * len(row.matching)
    found = [(EQUAL, len(row.only) - at + left, 0, value) for at, value in enumerate(row.only)]
    for mask, value in row.matching:
        left -= 3
        found += [(LOAD, 0, 0, ARGUMENTS + 8 * row.argument), (MASK, 0, 0, mask)]
        found += [(EQUAL, left, 0 if left else 1, value)]
    return found


def available(call: Call = syscall, of: str | None = None) -> bool:
    """Whether the kernel takes filters that ask a tracer, and the table has this architecture's numbers."""
    of = machine() if of is None else of
    if of not in NUMBERS:
        return False
    action = ctypes.c_uint32(ASK)
    try:
        return call(NUMBERS[of], GET_ACTION_AVAIL, 0, ctypes.byref(action)) == 0
    except OSError:
        return False


def packed(rules: list[Instruction]) -> bytes:
    """The rules as the kernel takes them."""
    return b"".join(struct.pack(INSTRUCTION, *rule) for rule in rules)


def install(rules: bytes, call: Call = syscall) -> None:
    """Filter the calls of this process, all its threads, and all that it starts, by packed rules.

    It must have no new privileges (`kernel.give_up_privileges`). Raises OSError.
    """
    buffer = ctypes.create_string_buffer(rules, len(rules))
    count = len(rules) // struct.calcsize(INSTRUCTION)
    given = ctypes.create_string_buffer(struct.pack("@HP", count, ctypes.addressof(buffer)))
    call(NUMBERS[machine()], SET_MODE_FILTER, ALL_THREADS | NO_MITIGATIONS, given)
