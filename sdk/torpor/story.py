"""Tells a model's story from the decisions about it: what happened, when, and why. Pure: values in, lines out."""

from dataclasses import dataclass
from datetime import datetime

from torpor.seen import Decision, ResidentModel

HAPPENED = {
    "download": "is to be fetched from S3",
    "downloaded": "was fetched",
    "not-downloaded": "could not be fetched",
    "found": "was found on the disk",
    "load": "is to be loaded",
    "loaded": "was loaded",
    "failed": "failed to load",
    "refuse": "was refused",
    "evict": "has to leave memory",
    "unloaded": "left memory",
    "delete": "has to leave the disk",
    "deleted": "left the disk",
}
"""An instance's word for a decision, and what it means to a reader."""


@dataclass(frozen=True)
class Story:
    """One model's decisions, oldest first. Print it."""

    model: str
    decisions: tuple[Decision, ...]
    resident: tuple[ResidentModel, ...] = ()
    """The model as it is in memory now, once for each instance that holds it."""

    def __str__(self) -> str:
        return "\n".join([self.model, *(f"  {line}" for line in self.lines())])

    def lines(self) -> list[str]:
        """One line per decision, then how it stands now."""
        if not self.decisions:
            return ["nothing was ever decided about it here: no request has named it"]
        return [*(told(decision) for decision in self.decisions), *self.now()]

    def now(self) -> list[str]:
        if not self.resident:
            return ["now: not in memory"]
        return [
            f"now: in memory, {size(model.size_bytes)}, {counted(model.hits, 'hit')}, idle for {model.idle_s:.1f} s"
            for model in self.resident
        ]


def told(decision: Decision) -> str:
    """`15:14:50.544  was loaded in 11.9 ms: measured 3,506,176 bytes`"""
    at = datetime.fromtimestamp(decision.at_s).strftime("%H:%M:%S.%f")[:-3]
    happened = HAPPENED.get(decision.action, decision.action)
    took = f" in {milliseconds(decision.took_s)}" if decision.took_s else ""
    why = f": {decision.reason}" if decision.reason else ""
    return f"{at}  {happened}{took}{why}"


def counted(count: int, thing: str) -> str:
    """`1 hit`, `2 hits`"""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def milliseconds(seconds: float) -> str:
    """Three figures are enough to compare by."""
    value = seconds * 1000
    return f"{value:,.0f} ms" if value >= 100 else f"{value:.1f} ms"


def size(count_bytes: float) -> str:
    """`1.5 MiB`, in the largest unit that leaves a whole number before the point."""
    for unit, unit_bytes in (("GiB", 1024**3), ("MiB", 1024**2)):
        if count_bytes >= unit_bytes:
            return f"{count_bytes / unit_bytes:.1f} {unit}"
    return f"{count_bytes / 1024:.0f} KiB"
