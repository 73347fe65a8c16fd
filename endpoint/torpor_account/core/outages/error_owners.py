"""Names the owner of each error: the machine's, Torpor's, the model's or the caller's. One table, by their numbers.

What follows is the same for asynchronous requests, transform jobs, data capture, the ledger and notices: work waits
while the machine fails, and that is no attempt; Torpor's own faults are tried a few times; the others are final.
"""

from collections.abc import Mapping
from enum import StrEnum
from errno import (
    EACCES,
    EAGAIN,
    EBUSY,
    ECONNABORTED,
    ECONNREFUSED,
    ECONNRESET,
    EDQUOT,
    EFBIG,
    EHOSTDOWN,
    EHOSTUNREACH,
    EIO,
    ELOOP,
    EMFILE,
    ENAMETOOLONG,
    ENETDOWN,
    ENETUNREACH,
    ENFILE,
    ENOBUFS,
    ENODEV,
    ENOMEM,
    ENOSPC,
    ENOTCONN,
    ENXIO,
    EPERM,
    EPIPE,
    EREMOTEIO,
    EROFS,
    ESTALE,
    ETIMEDOUT,
)
from typing import NamedTuple

from torpor_container.wire import Fault


class ErrorOwner(StrEnum):
    """Whose an error is."""

    MACHINE = "the machine's"
    TORPOR = "Torpor's"
    MODEL = "the model's"
    CALLER = "the caller's"


FOLLOWS: Mapping[ErrorOwner, str] = {
    ErrorOwner.MACHINE: "The work waits, with longer and longer pauses up to ten seconds, and goes on when the machine "
    "does. It is no attempt.",
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


_SYSTEM, _SQLITE, _POSTGRESQL = ErrorSource.SYSTEM, ErrorSource.SQLITE, ErrorSource.POSTGRESQL
_CODE, _STATUS, _INSTANCE = ErrorSource.S3_CODE, ErrorSource.S3_STATUS, ErrorSource.INSTANCE
_MACHINE, _MODEL, _CALLER = ErrorOwner.MACHINE, ErrorOwner.MODEL, ErrorOwner.CALLER

# fmt: off
TABLE: tuple[ErrorRow, ...] = (
    ErrorRow(_SYSTEM, (ENOSPC, EDQUOT, EFBIG), _MACHINE, "the disk, a quota or the size of a file is used up"),
    ErrorRow(_SYSTEM, (EMFILE, ENFILE), _MACHINE, "no file descriptor is left"),
    ErrorRow(_SYSTEM, (ENOMEM, ENOBUFS, EAGAIN), _MACHINE, "no memory or process is left"),
    ErrorRow(_SYSTEM, (EIO, EROFS, ESTALE, ENODEV, ENXIO, EREMOTEIO, EBUSY), _MACHINE, "the disk fails or is away"),
    ErrorRow(_SYSTEM, (ECONNREFUSED, ECONNRESET, ECONNABORTED, EPIPE, ENOTCONN), _MACHINE, "a connection broke"),
    ErrorRow(_SYSTEM, (ETIMEDOUT, EHOSTUNREACH, EHOSTDOWN, ENETUNREACH, ENETDOWN), _MACHINE, "the network fails"),
    ErrorRow(_SYSTEM, (EACCES, EPERM, ENAMETOOLONG, ELOOP), _CALLER, "the file of an object cannot be used"),
    ErrorRow(_SQLITE, (13,), _MACHINE, "FULL: the disk is full"),
    ErrorRow(_SQLITE, (7, 10, 14), _MACHINE, "NOMEM, IOERR, CANTOPEN: no memory, disk or descriptor"),
    ErrorRow(_SQLITE, (5, 6, 8, 15), _MACHINE, "BUSY, LOCKED, READONLY, PROTOCOL: it cannot be written now"),
    ErrorRow(_SQLITE, (11, 26), _MACHINE, "CORRUPT, NOTADB: the file is damaged"),
    ErrorRow(_POSTGRESQL, ("08", "57", "58"), _MACHINE, "the server or the way to it fails"),
    ErrorRow(_POSTGRESQL, ("53", "55"), _MACHINE, "the server lacks disk, memory, connections or a lock"),
    ErrorRow(_POSTGRESQL, ("25006", "40", "XX001", "XX002"), _MACHINE, "it cannot be written now"),
    ErrorRow(_CODE, ("InsufficientStorage",), _MACHINE, "the disk behind the store is full"),
    ErrorRow(_CODE, ("SlowDown", "Throttling", "RequestTimeout"), _MACHINE, "the store is busy"),
    ErrorRow(_CODE, ("RequestTimeTooSkewed", "ExpiredToken"), _MACHINE, "the endpoint's clock or session is behind"),
    ErrorRow(_STATUS, (408, 429), _MACHINE, "the store is busy"),
    ErrorRow(_STATUS, (5,), _MACHINE, "each 5xx: the store fails"),
    ErrorRow(_STATUS, (0,), _MACHINE, "no answer: the store is away"),
    ErrorRow(_STATUS, (4,), _CALLER, "each other 4xx: no such object or bucket, or no right to use it"),
    ErrorRow(_INSTANCE, (Fault.STORE_UNREACHABLE,), _MACHINE, "S3 did not answer the instance"),
    ErrorRow(_INSTANCE, (Fault.MACHINE_FAILED,), _MACHINE, "its disk is full, or it has no descriptor"),
    ErrorRow(_INSTANCE, (Fault.NOT_READY,), _MACHINE, "the model is still coming: the load goes on"),
    ErrorRow(_INSTANCE, (Fault.TARGET_MISSING, Fault.TARGET_FORBIDDEN), _CALLER, "the target is no model's name"),
    ErrorRow(_INSTANCE, (Fault.ARTIFACT_MISSING, Fault.ARTIFACT_INVALID), _CALLER, "the artifact cannot be used"),
    ErrorRow(_INSTANCE, (Fault.LOAD_FAILED, Fault.NO_ROOM, Fault.TIMED_OUT), _MODEL, "the model's own"),
    ErrorRow(_INSTANCE, (Fault.MODEL_DIED,), _MODEL, "the model ended its process"),
    ErrorRow(_INSTANCE, (Fault.ABSENT,), _MACHINE, "the model left memory: another instance loads it"),
)
# fmt: on
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
