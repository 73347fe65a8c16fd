"""What the operations of the control plane work with. They write down what is wanted; others make it so."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from torpor_endpoint.host.images import Images
from torpor_endpoint.storage.store import Store


class Observed(Protocol):
    """What is running, as opposed to what is wanted."""

    def instance_counts(self, endpoint_name: str) -> Mapping[str, int]:
        """Ready instances by variant name; a variant with none may be left out."""
        ...


def nowhere(arn: str) -> bool:
    """Everything with tags is in the store."""
    return False


def unscaled(endpoint_name: str) -> Collection[str]:
    """Nothing is registered with Application Auto Scaling."""
    return ()


@dataclass(frozen=True)
class Control:
    store: Store
    clock: Callable[[], float]  # epoch seconds
    strict: bool  # refuse what AWS refuses, although Torpor can do it
    observed: Observed
    changed: Callable[[str], None]  # called with an endpoint's name after its record changed, from any thread
    has_elsewhere: Callable[[str], bool] = nowhere  # whether something not in the store has this ARN, and so takes tags
    images: Images = field(default_factory=Images)  # which of them the built-in container stands in for
    scaled: Callable[[str], Collection[str]] = unscaled  # an endpoint's variants that are scalable targets
