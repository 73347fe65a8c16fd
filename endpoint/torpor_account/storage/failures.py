"""Names the owner of an exception (`core.outages.error_owners`), by the number or code that it carries."""

import sqlite3

from torpor_account.core.outages.error_owners import ErrorOwner, of_errno, of_sqlite
from torpor_account.core.outages.records_fault import RecordsFault

NO_THREAD = "can't start new thread"
"""What Python's RuntimeError says, which has no number."""
NO_DESCRIPTOR = "Too many open files"
"""What an ImportError of native code says, which has no number either."""


def owner_of(error: BaseException) -> ErrorOwner:
    """Whose the error is. One that no table knows is Torpor's."""
    if isinstance(known := getattr(error, "owner", None), ErrorOwner):
        return known
    if isinstance(error, RecordsFault):
        return ErrorOwner.MACHINE if error.told else ErrorOwner.TORPOR
    if isinstance(error, sqlite3.Error):
        return of_sqlite(getattr(error, "sqlite_errorcode", None))
    if isinstance(error, OSError):
        return of_errno(error.errno)
    lacking = isinstance(error, MemoryError) or NO_THREAD in str(error) or NO_DESCRIPTOR in str(error)
    return ErrorOwner.MACHINE if lacking else ErrorOwner.TORPOR


def is_machines(error: BaseException) -> bool:
    """Whether the machine failed: the work waits for it, and that is no attempt."""
    return owner_of(error) is ErrorOwner.MACHINE
