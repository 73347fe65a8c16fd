"""What the answers of one variant say of waits: how long loads take, and how fast a line of requests gets shorter.

`core.routing.second_copies` decides by them whether a request leaves a warm copy for a load.
"""

from torpor_endpoint.core.routing.ready_slots import PlacedInstance
from torpor_endpoint.core.routing.second_copies import is_load_quicker

KNOWN_MAX = 16_384
"""The most models of which one of these is remembered. Beyond them, all are measured anew."""


class WaitEstimates:
    """By model, in seconds: `loads_s` has what the last call took that led a load, or the last load ahead of calls, and
    `paces_s` the time between two answers of an instance that had several requests."""

    def __init__(self) -> None:
        self.loads_s: dict[str, float] = {}
        self.paces_s: dict[str, float] = {}

    def load_took(self, model: str, took_s: float) -> None:
        """A load of the model took so many seconds, with all that a call waits for it."""
        if model not in self.loads_s and len(self.loads_s) >= KNOWN_MAX:
            self.loads_s.clear()
        self.loads_s[model] = took_s

    def answered(self, model: str, took_s: float, requests: int) -> None:
        """A call that waited for no load took so many seconds. When it was sent the instance had so many requests, this
        one included: they were answered in that time, one each `took_s / requests` seconds. One alone says nothing of a
        line: it may be one of several that are answered at once."""
        if requests < 2:
            return
        if model not in self.paces_s and len(self.paces_s) >= KNOWN_MAX:
            self.paces_s.clear()
        self.paces_s[model] = took_s / requests

    def is_load_quicker(self, model: str, instance: PlacedInstance) -> bool:
        """Whether one more call is answered sooner where it waits for a load than at this instance."""
        return is_load_quicker(instance.in_flight, self.paces_s.get(model), self.loads_s.get(model))
