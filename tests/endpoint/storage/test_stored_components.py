"""The store's inference components: by endpoint, by card, and replaced by one caller at a time."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.account.helpers.databases import OpenPart
from torpor_endpoint.core.components.component_records import (
    ComponentRecord,
    ComponentSpecification,
    ComponentStatus,
    CopyResources,
    PlacementStrategy,
)
from torpor_endpoint.core.resource_records import Container, EndpointRecord, EndpointStatus
from torpor_endpoint.storage.schema import RECORDS
from torpor_endpoint.storage.store import ComponentCard, Store

S = ComponentStatus


@pytest.fixture
def store(opened: OpenPart) -> Iterator[Store]:
    database = opened(RECORDS)
    yield Store(database, lambda: 1000.25)
    database.close()


def component(name: str = "c", endpoint: str = "e", created_s: float = 1.5) -> ComponentRecord:
    specification = ComponentSpecification(
        (Container("torpor", "s3://b/m.tar.gz", environment={"K": "V"}),),
        resources=CopyResources(1024, 2048, 0.5),
        strategy=PlacementStrategy.BINPACK,
        request={"ModelName": "m"},
    )
    arn = f"arn:x:inference-component/{name.lower()}"
    return ComponentRecord(name, arn, created_s, created_s, S.CREATING, endpoint, "a", 0.5, "v", (specification,), 2)


def endpoint(created_s: float = 0.5) -> EndpointRecord:
    return EndpointRecord("e", "arn:x:endpoint/e", created_s, created_s, EndpointStatus.IN_SERVICE, "c", ())


def test_a_component_survives_a_restart_with_its_tags(opened: OpenPart) -> None:
    database = opened(RECORDS)
    assert Store(database, lambda: 0.0).add_component(component(), {"team": "blue"})
    database.close()
    database = opened(RECORDS)
    again = Store(database, lambda: 0.0)
    assert again.component("c") == component()
    assert again.tags.of(component().arn) == {"team": "blue"}
    assert again.has(component().arn)
    assert again.remove_component("c")
    assert (again.has(component().arn), again.tags.of(component().arn)) == (False, {})
    database.close()


def test_an_endpoint_has_its_own_components_and_none_of_one_that_had_its_name(store: Store) -> None:
    for one in (component("b"), component("a"), component("other", endpoint="f")):
        store.add_component(one)
    assert [one.name for one in store.components_of(endpoint())] == ["a", "b"]
    assert store.components_of(endpoint(created_s=9.5)) == ()
    assert len(store.components()) == 3


def test_a_card_agrees_with_its_component(store: Store) -> None:
    store.add_component(component())
    store.replace_component(replace(component(), status=S.IN_SERVICE), expected_status=S.CREATING)
    assert store.component_cards() == [ComponentCard("c", 1.5, 1000.25, "InService", "e", "v")]


def test_a_component_that_another_call_changed_or_replaced_is_not_overwritten(store: Store) -> None:
    store.add_component(component())
    assert not store.add_component(component("C"))
    assert store.replace_component(replace(component(), status=S.FAILED), expected_status=S.CREATING)
    assert not store.replace_component(replace(component(), status=S.IN_SERVICE), expected_status=S.CREATING)
    store.remove_component("c")
    store.add_component(component(created_s=2.5))
    assert not store.replace_component(replace(component(), status=S.FAILED), expected_status=S.CREATING)
