"""The filter of calls, run as the kernel runs it, and its table."""

import errno
import struct
from collections import Counter

import pytest

from torpor_container.isolation.seccomp import (
    ALLOW,
    ANY_BIT,
    ASK,
    AT_LEAST,
    EQUAL,
    ERRNO,
    KILL,
    LOAD,
    MASK,
    RETURN,
    Instruction,
    program,
)
from torpor_container.isolation.system_calls import (
    FORKS,
    LAST,
    MACHINES,
    METADATA,
    NETWORKS,
    OF_FILES,
    REFUSED,
    SystemCall,
)

CLONE, FORK, SOCKET, READ, PTRACE, PRLIMIT, SETPRIORITY, SOCKETPAIR = 56, 57, 41, 0, 101, 302, 141, 53
(SOCKETS,) = NETWORKS["refuse"]
CLONE_THREAD, CLONE_NEWUSER, CLONE_UNTRACED = 0x10000, 0x10000000, 0x800000


def decided(rules: list[Instruction], number: int, *arguments: int, architecture: int = MACHINES["x86_64"]) -> int:
    """What the filter returns for a call."""
    padded = [argument & (1 << 64) - 1 for argument in (*arguments, *[0] * (6 - len(arguments)))]
    words, at, loaded = struct.pack("<IIQ6Q", number, architecture, 0, *padded), 0, 0
    while True:
        code, if_true, if_false, value = rules[at]
        if code == RETURN:
            return value
        if code == LOAD:
            (loaded,) = struct.unpack_from("<I", words, value)
            at += 1
        elif code == MASK:
            loaded &= value
            at += 1
        else:
            holds = {EQUAL: loaded == value, AT_LEAST: loaded >= value, ANY_BIT: bool(loaded & value)}[code]
            at += 1 + (if_true if holds else if_false)


@pytest.mark.parametrize("machine", MACHINES)
def test_each_row_is_refused_and_the_others_are_not(machine: str) -> None:
    rules = program((*NETWORKS["refuse"], *REFUSED), machine)
    known = {row.number(machine): row for row in (*REFUSED, *METADATA)}
    for number in range(LAST + 1):
        told = decided(rules, number, 9, architecture=MACHINES[machine])
        row = known.get(number)
        if number == SOCKETS.number(machine):
            assert told == ERRNO | errno.EACCES
        elif row is None or row.without or row.matching:
            assert told == ALLOW
        else:
            assert told == ERRNO | row.error


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("asks", [True, False])
def test_calls_of_later_kernels_do_not_exist(machine: str, asks: bool) -> None:
    rules = program(REFUSED, machine, asks=asks)
    later = [*range(LAST + 1, 1000), 0x40000000, 0x40000000 + PTRACE, 0xFFFFFFFF]
    assert {decided(rules, number, architecture=MACHINES[machine]) for number in later} == {ERRNO | errno.ENOSYS}


@pytest.mark.parametrize("machine", MACHINES)
def test_the_tracer_is_asked_about_each_change_of_metadata(machine: str) -> None:
    asked, alone = program(REFUSED, machine, asks=True), program(REFUSED, machine)
    numbers = [number for row in (*METADATA, *FORKS) if (number := row.number(machine)) is not None]
    assert {decided(asked, number, architecture=MACHINES[machine]) for number in numbers} == {ASK}
    changes = [number for row in METADATA if (number := row.number(machine)) is not None]
    assert {decided(alone, number, architecture=MACHINES[machine]) for number in changes} == {ERRNO | errno.EPERM}


IOCTL, FCNTL, PRCTL, SECCOMP, OPEN, OPENAT = 16, 72, 157, 317, 2, 257


def test_attributes_of_files_are_read_and_not_set() -> None:
    rules = program(OF_FILES, "x86_64")
    reads = {"FS_IOC_GETFLAGS": 0x80086601, "FS_IOC_FSGETXATTR": 0x801C581F, "FS_IOC_FIEMAP": 0xC020660B}
    others = {"FIONREAD": 0x541B, "FIONBIO": 0x5421, "TCGETS": 0x5401, "TIOCGWINSZ": 0x5413, "FICLONE": 0x40049409}
    changes = {
        "FS_IOC_SETFLAGS": 0x40086602,
        "FS_IOC32_SETFLAGS": 0x40046602,
        "FS_IOC_FSSETXATTR": 0x401C5820,
        "FS_IOC_SETVERSION": 0x40087602,
        "FS_IOC_ENABLE_VERITY": 0x40806685,
        "EXT4_IOC_MIGRATE": 0x6609,
        "FS_IOC_ADD_ENCRYPTION_KEY": 0xC0506617,
        "FIFREEZE": 0xC0045877,
        "TIOCSTI": 0x5412,
        "TIOCLINUX": 0x541C,
    }
    assert {name: decided(rules, IOCTL, 3, number) for name, number in (reads | others).items()} == dict.fromkeys(
        reads | others, ALLOW
    )
    assert {name: decided(rules, IOCTL, 3, number) for name, number in changes.items()} == dict.fromkeys(
        changes, ERRNO | errno.EPERM
    )


def test_no_file_is_made_that_lends_the_rights_of_its_owner() -> None:
    rules, created, unnamed, setuid = program(OF_FILES, "x86_64"), 0x41, 0x410002, 0o4755
    assert [decided(rules, OPEN, 0, flags, 0o644) for flags in (created, unnamed, 0)] == [ALLOW] * 3
    assert [decided(rules, OPEN, 0, flags, setuid) for flags in (created, unnamed)] == [ERRNO | errno.EPERM] * 2
    assert decided(rules, OPENAT, 0, 0, created, setuid) == ERRNO | errno.EPERM
    assert decided(rules, OPENAT, 0, 0, 0x80000, setuid) == ALLOW  # without a file to make, that argument is none


def test_a_script_takes_no_lease_no_listener_and_hides_from_nobody() -> None:
    rules = program(REFUSED, "x86_64", asks=True)
    assert [decided(rules, FCNTL, 3, command) for command in (1, 1025, 1024)] == [ALLOW, ALLOW, ERRNO | errno.EACCES]
    assert [decided(rules, PRCTL, option, 0) for option in (15, 4)] == [ALLOW, ERRNO | errno.EPERM]
    assert [decided(rules, SECCOMP, 1, flags) for flags in (0, 1, 8, 9)] == [ALLOW] * 2 + [ERRNO | errno.EACCES] * 2


def test_an_argument_decides_where_the_row_says_so() -> None:
    rules = program((*NETWORKS["allow"], *REFUSED), "x86_64", asks=True)
    assert [decided(rules, SOCKET, family) for family in (2, 10, 16)] == [ALLOW] * 3
    assert [decided(rules, SOCKET, family) for family in (1, 17, 38, 40)] == [ERRNO | errno.EACCES] * 4
    assert decided(program(NETWORKS["refuse"], "x86_64"), SOCKET, 2) == ERRNO | errno.EACCES
    assert (decided(rules, PRLIMIT, 0), decided(rules, PRLIMIT, 7)) == (ALLOW, ERRNO | errno.EPERM)
    assert {decided(rules, CLONE, flag) for flag in (CLONE_NEWUSER, CLONE_UNTRACED)} == {ERRNO | errno.EPERM}
    assert [decided(rules, number, CLONE_THREAD) for number in (CLONE, FORK)] == [ASK] * 2
    assert (decided(rules, READ), decided(rules, PTRACE)) == (ALLOW, ERRNO | errno.EPERM)


@pytest.mark.parametrize("machine", MACHINES)
def test_with_the_endpoint_s_network_there_is_tcp_alone_and_no_listener(machine: str) -> None:
    rules = program((*NETWORKS["endpoint"], *REFUSED), machine, asks=True)
    numbers = {row.name: row.number(machine) or 0 for row in NETWORKS["endpoint"]}

    def call(name: str, *arguments: int) -> int:
        return decided(rules, numbers[name], *arguments, architecture=MACHINES[machine])

    allowed = [(2, 1, 0), (10, 1, 6), (2, 1 | 0x80000, 0), (2, 1 | 0x80800, 6)]
    refused = [(2, 2, 0), (2, 2, 17), (2, 1, 262), (2, 1, 132), (10, 3, 58), (16, 3, 0), (1, 1, 0), (2, 5, 0)]
    assert [call("socket", *one) for one in allowed] == [ALLOW] * 4
    assert [call("socket", *one) for one in refused] == [ERRNO | errno.EACCES] * 8
    assert call("listen", 3, 5) == ERRNO | errno.EACCES
    assert [call("sendto", 3, 0, 9, flags) for flags in (0x4000, 0x20004000)] == [ALLOW, ERRNO | errno.EACCES]
    assert [call("sendmsg", 3, 0, flags) for flags in (0, 0x20000000)] == [ALLOW, ERRNO | errno.EACCES]


@pytest.mark.parametrize("network", NETWORKS)
def test_a_pair_of_sockets_leads_to_its_peer_alone(network: str) -> None:
    rules = program((*NETWORKS[network], *REFUSED), "x86_64", asks=True)
    stream, datagram, raw, packets, nonblock, cloexec = 1, 2, 3, 5, 0x800, 0x80000
    allowed = [stream, stream | nonblock, stream | cloexec, packets | nonblock | cloexec, packets]
    refused = [datagram, datagram | cloexec, datagram | nonblock, raw, raw | cloexec, stream | 0x10000]
    assert [decided(rules, SOCKETPAIR, 1, kind) for kind in allowed] == [ALLOW] * 5
    assert [decided(rules, SOCKETPAIR, 1 | 1 << 32, kind | 1 << 32) for kind in allowed] == [ALLOW] * 5
    assert [decided(rules, SOCKETPAIR, 1, kind) for kind in refused] == [ERRNO | errno.EACCES] * 6
    assert [decided(rules, SOCKETPAIR, family, stream) for family in (2, 30)] == [ERRNO | errno.EACCES] * 2


def test_only_its_own_priority_is_a_process_s_to_change() -> None:
    rules = program(REFUSED, "x86_64")
    assert decided(rules, SETPRIORITY, 0, 0, 19) == ALLOW
    assert [decided(rules, SETPRIORITY, *one) for one in ((0, 7, 19), (1, 0, 19), (2, 0, 19))] == [
        ERRNO | errno.EPERM
    ] * 3


def test_calls_by_another_convention_are_none() -> None:
    rules = program(REFUSED, "x86_64")
    assert decided(rules, PTRACE, architecture=0x40000003) == KILL  # 32 bits: other numbers
    assert decided(rules, 0x40000000 + PTRACE) == ERRNO | errno.ENOSYS


@pytest.mark.parametrize("machine", MACHINES)
def test_no_number_stands_for_two_calls(machine: str) -> None:
    rows: list[SystemCall] = [*NETWORKS["endpoint"], *REFUSED, *FORKS, *METADATA]
    known = {(row.name, row.number(machine)) for row in rows if row.number(machine) is not None}
    assert [name for name, count in Counter(name for name, _ in known).items() if count > 1] == []
    assert [number for number, count in Counter(number for _, number in known).items() if count > 1] == []
    assert len(program(rows, machine, asks=True)) < 4096  # BPF_MAXINSNS
