"""Gives an endpoint's ledger as a file, which is what the simulator reads: its own, or a copy of one in a database."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from torpor_endpoint.ledger.file_copy import copied

if TYPE_CHECKING:
    from torpor_endpoint.endpoint_parts import EndpointParts


def ledger_file(parts: "EndpointParts") -> AbstractContextManager[Path]:
    """The file, for the time of the block. Any thread may enter it, and waits for the disk. Raises DatabaseFault."""
    if parts.options.database is None:
        return nullcontext(parts.account.folders.ledger.resolve())
    return copied(parts.ledger.tables.database)
