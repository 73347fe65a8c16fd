"""ErrorOwner error an error is: the machine's, Torpor's, the model's or the caller's. One table, from the system's numbers.

What follows is the same for asynchronous requests, transform jobs, data capture, the ledger and notices: work waits
while the machine fails, and that is no attempt; Torpor's own faults are tried a few times; the others are final.
"""

import errno
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from torpor_container.wire import Fault


class ErrorOwner(StrEnum):
    """ErrorOwner error it is."""

    MACHINE = "the machine's"
    TORPOR = "Torpor's"
    MODEL = "the model's"
    CALLER = "the caller's"


FOLLOWS: Mapping[ErrorOwner, str] = {
    ErrorOwner.MACHINE: "The work waits, and goes on when the machine does. It is no attempt.",
    ErrorOwner.TORPOR: "The work is tried again, three times in all.",
    ErrorOwner.MODEL: "The work has failed, with the model's own words.",
    ErrorOwner.CALLER: "The work has failed, and the text says what to change.",
}


class ErrorSource(StrEnum):
    """Where an error comes from, and so what its value is."""

    SYSTEM = "the system"  # an errno
    SQLITE = "SQLite"  # a primary result code
    POSTGRESQL = "PostgreSQL"  # an SQLSTATE, or its class: the first two characters
    S3_CODE = "S3, by code"
    S3_STATUS = "S3, by HTTP status"
    INSTANCE = "an instance"  # a Fault


class ErrorRow(NamedTuple):
    """Some errors of one source, and whose they are."""

    source: ErrorSource
    values: tuple[int | str, ...]
    owner: ErrorOwner
    why: str


TABLE: tuple[ErrorRow, ...] = (
    ErrorRow(
        ErrorSource.SYSTEM,
        (errno.ENOSPC, errno.EDQUOT, errno.EFBIG),
        ErrorOwner.MACHINE,
        "the disk, a quota or the size of a file is used up",
    ),
    ErrorRow(ErrorSource.SYSTEM, (errno.EMFILE, errno.ENFILE), ErrorOwner.MACHINE, "no file descriptor is left"),
    ErrorRow(
        ErrorSource.SYSTEM,
        (errno.ENOMEM, errno.ENOBUFS, errno.EAGAIN),
        ErrorOwner.MACHINE,
        "no memory or process is left",
    ),
    ErrorRow(
        ErrorSource.SYSTEM,
        (errno.EIO, errno.EROFS, errno.ESTALE, errno.ENODEV, errno.ENXIO, errno.ENOTCONN, errno.EREMOTEIO, errno.EBUSY),
        ErrorOwner.MACHINE,
        "the disk fails or is away",
    ),
    ErrorRow(
        ErrorSource.SYSTEM,
        (
            errno.ECONNREFUSED,
            errno.ECONNRESET,
            errno.ECONNABORTED,
            errno.EPIPE,
            errno.ETIMEDOUT,
            errno.EHOSTUNREACH,
            errno.EHOSTDOWN,
            errno.ENETUNREACH,
            errno.ENETDOWN,
        ),
        ErrorOwner.MACHINE,
        "the network fails, or what it leads to",
    ),
    ErrorRow(
        ErrorSource.SYSTEM,
        (errno.EACCES, errno.EPERM, errno.ENAMETOOLONG, errno.ELOOP, errno.EISDIR, errno.ENOTDIR),
        ErrorOwner.CALLER,
        "the file of an object cannot be used",
    ),
    ErrorRow(ErrorSource.SQLITE, (13,), ErrorOwner.MACHINE, "FULL: the disk is full"),
    ErrorRow(
        ErrorSource.SQLITE, (7, 10, 14), ErrorOwner.MACHINE, "NOMEM, IOERR, CANTOPEN: no memory, disk or descriptor"
    ),
    ErrorRow(
        ErrorSource.SQLITE,
        (5, 6, 8, 15),
        ErrorOwner.MACHINE,
        "BUSY, LOCKED, READONLY, PROTOCOL: it cannot be written now",
    ),
    ErrorRow(ErrorSource.SQLITE, (11, 26), ErrorOwner.MACHINE, "CORRUPT, NOTADB: the file is damaged"),
    ErrorRow(ErrorSource.POSTGRESQL, ("08", "57", "58"), ErrorOwner.MACHINE, "the server or the way to it fails"),
    ErrorRow(
        ErrorSource.POSTGRESQL, ("53", "55"), ErrorOwner.MACHINE, "the server lacks disk, memory, connections or a lock"
    ),
    ErrorRow(ErrorSource.POSTGRESQL, ("25006", "40", "XX001", "XX002"), ErrorOwner.MACHINE, "it cannot be written now"),
    ErrorRow(ErrorSource.S3_CODE, ("InsufficientStorage",), ErrorOwner.MACHINE, "the disk behind the store is full"),
    ErrorRow(
        ErrorSource.S3_CODE,
        ("SlowDown", "Throttling", "RequestTimeout", "RequestTimeTooSkewed", "ExpiredToken"),
        ErrorOwner.MACHINE,
        "the store is busy, or the endpoint's clock or session is behind",
    ),
    ErrorRow(ErrorSource.S3_STATUS, (408, 429), ErrorOwner.MACHINE, "the store is busy"),
    ErrorRow(ErrorSource.S3_STATUS, (5,), ErrorOwner.MACHINE, "each 5xx: the store fails"),
    ErrorRow(ErrorSource.S3_STATUS, (0,), ErrorOwner.MACHINE, "no answer: the store is away"),
    ErrorRow(
        ErrorSource.S3_STATUS,
        (4,),
        ErrorOwner.CALLER,
        "each other 4xx: no such object or bucket, or no right to use it",
    ),
    ErrorRow(ErrorSource.INSTANCE, (Fault.STORE_UNREACHABLE,), ErrorOwner.MACHINE, "S3 did not answer the instance"),
    ErrorRow(
        ErrorSource.INSTANCE, (Fault.NOT_READY,), ErrorOwner.MACHINE, "the model is still coming: the load goes on"
    ),
    ErrorRow(
        ErrorSource.INSTANCE,
        (Fault.TARGET_MISSING, Fault.TARGET_FORBIDDEN, Fault.ARTIFACT_MISSING, Fault.ARTIFACT_INVALID),
        ErrorOwner.CALLER,
        "the target names no model that can be used",
    ),
    ErrorRow(
        ErrorSource.INSTANCE, (Fault.LOAD_FAILED, Fault.NO_ROOM, Fault.TIMED_OUT), ErrorOwner.MODEL, "the model's own"
    ),
    ErrorRow(ErrorSource.INSTANCE, (Fault.MODEL_DIED,), ErrorOwner.MODEL, "the model ended its process"),
)
"""Each error that is known. What is not here is Torpor's."""

_OWNERS = {(row.source, value): row.owner for row in TABLE for value in row.values}


def of_errno(number: int | None) -> ErrorOwner:
    return _OWNERS.get((ErrorSource.SYSTEM, number or 0), ErrorOwner.TORPOR)


def of_sqlite(code: int | None) -> ErrorOwner:
    """`code` may be an extended one. An error without a code is of Python's module."""
    return _OWNERS.get((ErrorSource.SQLITE, (code or 0) & 0xFF), ErrorOwner.TORPOR)


def of_postgresql(state: str | None, connected: bool) -> ErrorOwner:
    """An error without an SQLSTATE is the connection's, where there is none any more."""
    if state is None:
        return ErrorOwner.TORPOR if connected else ErrorOwner.MACHINE
    found = _OWNERS.get((ErrorSource.POSTGRESQL, state)) or _OWNERS.get((ErrorSource.POSTGRESQL, state[:2]))
    return found or ErrorOwner.TORPOR


def of_s3(status: int, code: str = "") -> ErrorOwner:
    """`status` is 0 where there was no answer."""
    by_code = _OWNERS.get((ErrorSource.S3_CODE, code)) or _OWNERS.get((ErrorSource.S3_STATUS, status))
    return by_code or _OWNERS.get((ErrorSource.S3_STATUS, status // 100), ErrorOwner.TORPOR)


def of_fault(fault: Fault) -> ErrorOwner:
    return _OWNERS[ErrorSource.INSTANCE, fault]
