"""What a router counts of its requests, on its way to the control's metrics and ledger: rows, in numbered batches.

A router keeps each row until the control has it (`routing.router.reports.pending_accounts`); warm requests that are
alike are one row. The control takes a batch once, however often it comes (`routing.control.account_taker`): the number
of a router's last batch is in the ledger, in the same transaction as its rows. A batch whose rows the ledger lost,
before it could write them, is taken when it comes again.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

Row = list[Any]
"""A kind, and the arguments of its counter."""


class AccountBatch(NamedTuple):
    number: int
    rows: Sequence[Row]

    def json(self) -> dict[str, Any]:
        return {"number": self.number, "rows": self.rows}
