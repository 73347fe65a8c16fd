"""Stores models, endpoint configs, endpoints, inference components and their tags in the endpoint's database.

It decides nothing about the records. Its size does not depend on the number of models that an endpoint has loaded.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from torpor_account.storage.databases.database import Database
from torpor_account.storage.record_table import Card, RecordTable
from torpor_account.storage.tag_store import Tags
from torpor_endpoint.core.components.component_records import ComponentRecord, ComponentStatus
from torpor_endpoint.core.resource_records import EndpointConfig, EndpointRecord, EndpointStatus, ModelRecord
from torpor_endpoint.storage.lineage_store import LineageStore
from torpor_endpoint.storage.package_store import PackageStore

R = TypeVar("R", ModelRecord, EndpointConfig, EndpointRecord, ComponentRecord)

NO_TAGS: Mapping[str, str] = MappingProxyType({})


class ComponentCard(NamedTuple):
    """The few fields of an inference component that a listing reads."""

    name: str
    created_s: float
    modified_s: float
    status: str
    endpoint_name: str
    variant_name: str


def nobody(endpoint: EndpointRecord) -> None:
    """The default of `told`."""


class Store:
    """Any thread may call its methods. `add_*`, `remove_*` and `replace_*` return whether they changed it."""

    def __init__(
        self, database: Database, clock: Callable[[], float], told: Callable[[EndpointRecord], None] = nobody
    ) -> None:
        """`clock` gives epoch seconds. `told` is called with each endpoint that was stored."""
        self._clock = clock
        self._told = told
        self._database = database
        self.tags = Tags(database)
        self.packages = PackageStore(database, self.tags)
        self.lineage = LineageStore(database, self.tags)
        self._models = RecordTable(self._database, "models", ModelRecord)
        self._endpoint_configs = RecordTable(self._database, "endpoint_configs", EndpointConfig)
        self._endpoints = RecordTable(self._database, "endpoints", EndpointRecord)
        self._components = RecordTable(self._database, "components", ComponentRecord)
        self._endpoints_before = RecordTable(self._database, "endpoints_before", EndpointRecord)

    # -- models --------------------------------------------------------------------------------------------------------
    def add_model(self, model: ModelRecord, tags: Mapping[str, str] = NO_TAGS) -> bool:
        return self._add(self._models, model, tags)

    def model(self, name: str) -> ModelRecord | None:
        return self._models.get(name)

    def model_cards(self) -> list[Card]:
        return self._models.cards()

    def remove_model(self, name: str) -> bool:
        return self._remove(self._models, name)

    # -- endpoint configs ----------------------------------------------------------------------------------------------
    def add_endpoint_config(self, config: EndpointConfig, tags: Mapping[str, str] = NO_TAGS) -> bool:
        return self._add(self._endpoint_configs, config, tags)

    def endpoint_config(self, name: str) -> EndpointConfig | None:
        return self._endpoint_configs.get(name)

    def endpoint_config_cards(self) -> list[Card]:
        return self._endpoint_configs.cards()

    def remove_endpoint_config(self, name: str) -> bool:
        return self._remove(self._endpoint_configs, name)

    # -- endpoints -----------------------------------------------------------------------------------------------------
    def add_endpoint(self, endpoint: EndpointRecord, tags: Mapping[str, str] = NO_TAGS) -> bool:
        added = self._add(self._endpoints, endpoint, tags)
        if added:
            self._told(endpoint)
        return added

    def endpoint(self, name: str) -> EndpointRecord | None:
        return self._endpoints.get(name)

    def endpoints(self) -> tuple[EndpointRecord, ...]:
        return self._endpoints.all()

    def endpoint_cards(self) -> list[Card]:
        return self._endpoints.cards()

    def replace_endpoint(self, endpoint: EndpointRecord, *, expected_status: EndpointStatus) -> bool:
        """Store the endpoint with the current time, if the stored one has the expected status and creation time."""
        stored_now = replace(endpoint, modified_s=self._clock())
        replaced = self._endpoints.replace(
            stored_now,
            still=lambda stored: (stored.status, stored.created_s) == (expected_status, endpoint.created_s),
        )
        if replaced:
            self._told(stored_now)
        return replaced

    def remove_endpoint(self, name: str) -> bool:
        return self._remove(self._endpoints, name)

    # -- inference components ------------------------------------------------------------------------------------------
    def add_component(self, component: ComponentRecord, tags: Mapping[str, str] = NO_TAGS) -> bool:
        return self._add(self._components, component, tags)

    def component(self, name: str) -> ComponentRecord | None:
        return self._components.get(name)

    def components(self) -> tuple[ComponentRecord, ...]:
        return self._components.all()

    def components_of(self, endpoint: EndpointRecord) -> tuple[ComponentRecord, ...]:
        """The endpoint's components, without those of an endpoint that had its name before."""
        found = self._components.where("endpoint_name", endpoint.name)
        return tuple(one for one in found if one.endpoint_created_s == endpoint.created_s)

    def component_cards(self) -> list[ComponentCard]:
        return list(map(ComponentCard._make, self._components.columns(*ComponentCard._fields)))

    def replace_component(self, component: ComponentRecord, *, expected_status: ComponentStatus) -> bool:
        """Store the component with the current time, if the stored one has the expected status and creation time."""
        return self._components.replace(
            replace(component, modified_s=self._clock()),
            still=lambda stored: (stored.status, stored.created_s) == (expected_status, component.created_s),
        )

    def remove_component(self, name: str) -> bool:
        return self._remove(self._components, name)

    # -- endpoints as they were before an experiment -------------------------------------------------------------------
    def keep_before(self, endpoint: EndpointRecord) -> None:
        self._endpoints_before.put(endpoint)

    def endpoint_before(self, name: str) -> EndpointRecord | None:
        return self._endpoints_before.get(name)

    def forget_before(self, name: str) -> None:
        self._endpoints_before.remove(name)

    # -- all of them ---------------------------------------------------------------------------------------------------
    def has(self, arn: str) -> bool:
        """Whether a model, endpoint config, endpoint, inference component, group of packages, package or entity of
        lineage has this ARN."""
        key = arn.rpartition("/")[2]
        found = (
            self._models.at(key),
            self._endpoint_configs.at(key),
            self._endpoints.at(key),
            self._components.at(key),
        )
        named = any(record is not None and record.arn == arn for record in found)
        return named or self.packages.has(arn) or self.lineage.has(arn)

    def _add(self, table: RecordTable[R], record: R, tags: Mapping[str, str]) -> bool:
        """Add the record and its tags, or nothing if the name is taken."""
        with self._database.transaction():
            added = table.add(record)
            if added:
                self.tags.put_within(record.arn, tags)
        return added

    def _remove(self, table: RecordTable[R], name: str) -> bool:
        """Remove the record and its tags."""
        with self._database.transaction():
            record = table.get(name)
            if record is None:
                return False
            self.tags.forget(record.arn)
            return table.remove(name)
