"""Which adapters the copies of each inference component serve. A copy fetches an adapter when it is needed there."""

from torpor_endpoint.core.components.component_records import ComponentRecord
from torpor_endpoint.core.components.component_variants import with_adapters
from torpor_endpoint.core.resource_records import Variant


class ServedAdapters:
    """By the name of their base, the adapters in service."""

    def __init__(self) -> None:
        self._of: dict[str, dict[str, str]] = {}

    def put(self, adapter: ComponentRecord) -> None:
        """The adapter is served, from where its wanted specification says."""
        specification = (adapter.pending_specifications or adapter.specifications)[0]
        if specification.base_name is not None and specification.adapter_url is not None:
            self._of.setdefault(specification.base_name, {})[adapter.name] = specification.adapter_url

    def drop(self, adapter: ComponentRecord) -> None:
        """It is served no more."""
        if adapter.base_name is not None:
            self._of.get(adapter.base_name, {}).pop(adapter.name, None)

    def served_by(self, base: str, variant: Variant) -> Variant:
        """A variant of the base's copies, with the adapters that they serve."""
        return with_adapters(variant, self._of.get(base, {}))
