"""The table of errors: whose each is, by the number or the code that a system gives it."""

import errno
import sqlite3

import pytest

from torpor_account.core.outages.error_owners import (
    FOLLOWS,
    TABLE,
    ErrorOwner,
    of_errno,
    of_fault,
    of_postgresql,
    of_s3,
    of_sqlite,
)
from torpor_container.errors import MACHINE_ERRORS
from torpor_container.wire import Fault


def test_no_error_belongs_to_two_and_each_owner_has_a_consequence() -> None:
    known = [(row.source, value) for row in TABLE for value in row.values]
    assert len(known) == len(set(known))
    assert set(FOLLOWS) == set(ErrorOwner)


@pytest.mark.parametrize("name", ["ENOSPC", "EDQUOT", "EFBIG", "EMFILE", "ENFILE", "EIO", "EROFS", "ENOMEM"])
def test_no_room_no_descriptor_and_a_failing_disk_are_the_machines(name: str) -> None:
    assert of_errno(getattr(errno, name)) is ErrorOwner.MACHINE


def test_what_an_instance_takes_for_the_machines_is_the_machines_here_too() -> None:
    assert {of_errno(number) for number in MACHINE_ERRORS} == {ErrorOwner.MACHINE}


def test_a_file_that_may_not_be_read_is_the_callers_and_an_unknown_error_is_torpors() -> None:
    assert of_errno(errno.EACCES) is ErrorOwner.CALLER
    assert (of_errno(errno.ENOENT), of_errno(None)) == (ErrorOwner.TORPOR, ErrorOwner.TORPOR)


def test_sqlites_codes_are_those_of_its_module() -> None:
    machine = (
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR_WRITE,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_BUSY_SNAPSHOT,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_PROTOCOL,
    )
    assert {of_sqlite(code) for code in machine} == {ErrorOwner.MACHINE}
    assert {of_sqlite(code) for code in (sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_ERROR, None)} == {
        ErrorOwner.TORPOR
    }


AWAY = "57P01", "53100", "53300", "08006", "58030", "55P03"
NOT_NOW = "25006", "40001", "40P01", "XX001", "XX002"


def test_a_server_of_postgresql_that_is_away_or_full_is_the_machines() -> None:
    assert {of_postgresql(state, True) for state in (*AWAY, *NOT_NOW)} == {ErrorOwner.MACHINE}
    assert of_postgresql(None, connected=False) is ErrorOwner.MACHINE
    assert {of_postgresql(state, True) for state in ("23505", "42P01", None)} == {ErrorOwner.TORPOR}


def test_a_store_that_is_full_busy_or_away_is_the_machines_and_a_refusal_is_the_callers() -> None:
    machine = ((0, ""), (500, "InternalError"), (503, "SlowDown"), (507, ""), (413, "InsufficientStorage"), (429, ""))
    assert {of_s3(*answer) for answer in machine} == {ErrorOwner.MACHINE}
    assert of_s3(408) is ErrorOwner.MACHINE
    caller = ((404, "NoSuchKey"), (403, "AccessDenied"), (413, ""), (409, "BucketNotEmpty"))
    assert {of_s3(*answer) for answer in caller} == {ErrorOwner.CALLER}


@pytest.mark.parametrize("code", ["SlowDown", "Throttling", "RequestTimeout", "RequestTimeTooSkewed", "ExpiredToken"])
def test_a_refusal_that_will_end_by_itself_is_the_machines_whatever_its_status(code: str) -> None:
    assert {of_s3(status, code) for status in (400, 403, 503)} == {ErrorOwner.MACHINE}


def test_each_fault_of_an_instance_has_an_owner() -> None:
    assert {fault: of_fault(fault) for fault in Fault}[Fault.STORE_UNREACHABLE] is ErrorOwner.MACHINE
