"""Names what the tier on a device decides: it makes the same decisions as the tier in memory."""

from collections.abc import Mapping
from typing import Final

ON_DEVICE: Final[Mapping[str, str]] = {
    "load": "enter",
    "loaded": "entered",
    "evict": "leave",
    "unloaded": "left",
    "failed": "not-entered",
}
"""By the action of `core.residency`: the one that the journal of an instance, and the log of a simulation, has."""
