"""What SageMaker's operations act on. They write the desired state to the store; the controller carries it out."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from torpor_endpoint.core.components.component_records import ComponentRecord
from torpor_endpoint.core.registry.package_records import ModelPackage
from torpor_endpoint.core.resource_records import Variant
from torpor_endpoint.host.images import Images
from torpor_endpoint.storage.store import Store

if TYPE_CHECKING:
    from torpor_endpoint.services.sagemaker.model_data import ModelDataAccess
    from torpor_endpoint.services.sagemaker.registry.prefix_feeding import PrefixFeeding


class Observed(Protocol):
    """The running instances, as opposed to the desired ones."""

    def instance_counts(self, endpoint_name: str) -> Mapping[str, int]:
        """Ready instances by variant name. A variant without any may be missing."""
        ...

    def type_counts(self, endpoint_name: str) -> Mapping[str, Mapping[str, int]]:
        """Ready instances by variant name and instance type."""
        ...

    def green_counts(self, endpoint_name: str) -> Mapping[str, int]:
        """The same of the fleet that a rollout brings. Empty without a rollout."""
        ...


def nowhere(arn: str) -> bool:
    """The default of `has_elsewhere`: only resources in the store have tags."""
    return False


def unscaled(endpoint_name: str) -> Collection[str]:
    """The default of `scaled`: no variant is a scalable target."""
    return ()


def silent(endpoint_name: str, variants: Collection[Variant]) -> None:
    """The default of `deployed`: there are no topics."""


def no_alarm(name: str) -> bool:
    """The default of `has_alarm`: CloudWatch has no alarm."""
    return False


def uncounted(component: ComponentRecord) -> Mapping[str, int]:
    """The default of `copy_counts`: no component has a copy in service."""
    return {}


def unheard(component_name: str) -> None:
    """The default of `component_changed`: nothing carries it out."""


def unmoved(package: ModelPackage) -> None:
    """The default of `package_changed`: nobody listens."""


@dataclass(frozen=True)
class Control:
    """The store, the clock and the running parts of the endpoint that operations need."""

    store: Store
    clock: Callable[[], float]  # epoch seconds
    strict: bool  # refuse what AWS refuses, even if Torpor can do it
    observed: Observed
    changed: Callable[[str], None]  # called with an endpoint's name after its record changed, from any thread
    has_elsewhere: Callable[[str], bool] = (
        nowhere  # whether a resource outside the store has this ARN and can have tags
    )
    images: Images = field(default_factory=Images)  # which program serves which image
    scaled: Callable[[str], Collection[str]] = unscaled  # an endpoint's variants that are scalable targets
    deployed: Callable[[str, Collection[Variant]], None] = (
        silent  # called, from any thread, with the variants that an endpoint is created with or updated to
    )
    has_alarm: Callable[[str], bool] = no_alarm  # whether CloudWatch has an alarm of this name
    model_data: "ModelDataAccess | None" = None  # what execution roles may read; None where roles are names only
    copy_counts: Callable[[ComponentRecord], Mapping[str, int]] = (
        uncounted  # the copies in service of an inference component, by instance type
    )
    component_changed: Callable[[str], None] = (
        unheard  # called with an inference component's name after its record changed, from any thread
    )
    package_changed: Callable[[ModelPackage], None] = (
        unmoved  # called with a model package that was made, or whose approval has changed, from any thread
    )
    feeding: "PrefixFeeding | None" = None  # what puts packages below prefixes; None where no prefix can be fed
