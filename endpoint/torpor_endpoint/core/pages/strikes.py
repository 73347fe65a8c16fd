"""The page of faults: what has struck so far, and what is left of the schedule."""

from collections.abc import Sequence

from torpor_container.frozen_class import frozen
from torpor_container.typed_json import read, written
from torpor_endpoint.core.pages import Json
from torpor_endpoint.core.testing.fault_schedule import FaultSchedule


@frozen
class Strike:
    """A fault that has struck: its line of the schedule, and the object, or the invocation's model and instance."""

    fault: str
    on: str
    at_s: float
    """Epoch seconds of the endpoint's clock."""


@frozen
class FaultState:
    """How far the schedule is."""

    struck: tuple[Strike, ...]
    left: FaultSchedule

    @classmethod
    def read(cls, page: Json) -> "FaultState":
        return cls(read(tuple[Strike, ...], page["struck"]), FaultSchedule.parse(page["left"]))


def faults_page(struck: Sequence[Strike], left: FaultSchedule) -> Json:
    return {"struck": written(struck), "left": str(left)}
