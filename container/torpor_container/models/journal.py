"""Keeps the last decisions of an instance, newest last, for a person to read and for the endpoint to collect."""

import time
from collections import deque
from collections.abc import Callable, Mapping
from itertools import islice

from torpor_container.core.residency import Decision
from torpor_container.core.versions.copy_names import model_of
from torpor_container.wire import DecisionRecord

RECORDS_MAX = 5_000

ON_DISK = {
    "load": "download",
    "loaded": "downloaded",
    "evict": "delete",
    "unloaded": "deleted",
    "failed": "not-downloaded",
}
"""The disk tier makes the same decisions as the memory tier; these are its names for them."""


class Journal:
    """A bounded, numbered list of decisions. It turns times of the clock into epoch seconds."""

    def __init__(self, clock: Callable[[], float], epoch: Callable[[], float] = time.time) -> None:
        """`clock` is that of the decisions' times. `epoch` gives epoch seconds, and is read once."""
        self._epoch_offset_s = epoch() - clock()
        self._decisions: deque[tuple[str, Decision]] = deque(maxlen=RECORDS_MAX)
        self.last_seq = 0

    def writer(self, names: Mapping[str, str] | None = None) -> Callable[[Decision], None]:
        """A recorder for one tier; `names` renames its actions."""
        renamed = names or {}
        return lambda decision: self._write(decision, renamed.get(decision.action, decision.action))

    def after(self, seq: int, model: str | None = None) -> list[DecisionRecord]:
        """The decisions later than `seq`, of one model if named."""
        first = self.last_seq - len(self._decisions)  # numbers are consecutive, so the first ones need no look
        skipped = max(0, seq - first)
        later = enumerate(islice(self._decisions, skipped, None), first + skipped + 1)
        return [self._record(number, *one) for number, one in later if model in (None, model_of(one[1].model))]

    def _write(self, decision: Decision, action: str) -> None:
        """As it is: a record takes three times the memory."""
        self.last_seq += 1
        self._decisions.append((action, decision))

    def _record(self, seq: int, action: str, decision: Decision) -> DecisionRecord:
        return {
            "seq": seq,
            "at_s": decision.at_s + self._epoch_offset_s,
            "model": model_of(decision.model),
            "action": action,
            "reason": decision.reason,
            "bytes": decision.size_bytes,
            "took_s": decision.took_s,
            "for_model": model_of(decision.for_model),
        }
