"""The variants of copies: their names, and what they take from component and endpoint; and records without words."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.core.components.component_lifecycle import ComponentEvent, component_after
from torpor_endpoint.core.components.component_records import (
    ComponentRecord,
    ComponentSpecification,
    ComponentStatus,
    CopyResources,
    PlacementStrategy,
)
from torpor_endpoint.core.components.component_variants import (
    GENERATIONS,
    component_of,
    copies_name,
    copies_variant,
    with_adapters,
)
from torpor_endpoint.core.resource_records import Container, CopyNeeds, Variant

CAPACITY = Variant("AllTraffic", "", (), instance_type="ml.m5.large", deployed_by="arn:who")
RESOURCES = CopyResources(512, 1024, cores=1.5, accelerators=2.0)
SPECIFICATION = ComponentSpecification(
    (Container("torpor"),), "model", resources=RESOURCES, startup_timeout_s=99.0, strategy=PlacementStrategy.BINPACK
)
RECORD = ComponentRecord(
    "c", "arn:c", 1.0, 1.0, ComponentStatus.IN_SERVICE, "e", "arn:e", 0.5, "v", (SPECIFICATION,), 2
)


def test_the_words_of_aws_for_statuses_and_strategies() -> None:
    """https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_DescribeInferenceComponent.html and its types."""
    assert [*ComponentStatus] == ["Creating", "InService", "Updating", "Failed", "Deleting"]
    assert [*PlacementStrategy] == ["SPREAD", "BINPACK"]


def test_what_a_caller_does_not_say() -> None:
    assert CopyResources(1) == CopyResources(1, max_memory_mib=None, cores=0.0, accelerators=0.0)
    said = ComponentSpecification()
    assert (said.startup_timeout_s, said.strategy, said.resolved_s) == (480.0, PlacementStrategy.SPREAD, 0.0)
    assert (RECORD.by_instance_type, RECORD.pending_by_instance_type, RECORD.generation) == (False, False, 0)


def test_an_adapter_belongs_to_its_base() -> None:
    assert RECORD.base_name is None
    assert replace(RECORD, specifications=(ComponentSpecification(base_name="base"),)).base_name == "base"


def test_an_update_that_has_ended_leaves_nothing_of_itself() -> None:
    updating = replace(RECORD, status=ComponentStatus.UPDATING, pending_by_instance_type=True, pending_copies=3)
    done = component_after(updating, ComponentEvent.READY)
    assert done == replace(RECORD, copies=3)


@given(st.from_regex("[a-zA-Z0-9](-*[a-zA-Z0-9]){0,8}", fullmatch=True), st.sampled_from(GENERATIONS))
def test_a_component_is_found_by_the_name_of_its_copies_variant(component: str, generation: int) -> None:
    assert component_of(copies_name(component, generation)) == component
    assert component_of(component) is None


def test_the_names_of_copies_variants_are_on_disk_and_stay() -> None:
    assert [copies_name("c", generation) for generation in GENERATIONS] == ["component.c", "component.c.2"]
    assert copies_name("c") == "component.c"


def test_a_variant_of_copies_has_what_component_and_endpoint_say() -> None:
    assert copies_variant(RECORD, SPECIFICATION, CAPACITY, 3, wakes=True) == Variant(
        name="component.c",
        model_name="model",
        containers=SPECIFICATION.containers,
        instance_type="ml.m5.large",
        instance_count=3,
        startup_timeout_s=99.0,
        deployed_by="arn:who",
        copies=CopyNeeds("c", "AllTraffic", 512, memory_max_mib=1024, cores=1.5, accelerators=2.0, binpack=True),
    )


@pytest.mark.parametrize(
    ("wakes", "count", "bounds"),
    [(True, 0, (0, 1)), (True, 1, (None, None)), (False, 0, (None, None)), (False, 1, (None, None))],
)
def test_a_request_starts_a_copy_where_there_are_none_and_one_may_wake(
    wakes: bool, count: int, bounds: tuple[int | None, int | None]
) -> None:
    made = copies_variant(RECORD, SPECIFICATION, CAPACITY, count, wakes=wakes)
    assert (made.instances_min, made.instances_max, made.instance_count) == (*bounds, count)


@pytest.mark.parametrize(
    ("chosen", "first_of_pools", "type_", "first_type"),
    [
        (None, "ml.m5.large", "ml.m5.large", ""),
        ("ml.m5.large", "ml.m5.large", "ml.m5.large", ""),
        ("ml.c5.large", "ml.m5.large", "ml.c5.large", "ml.m5.large"),
        ("ml.c5.large", None, "ml.c5.large", ""),
    ],
)
def test_copies_on_another_pool_than_the_first_know_the_first_ones_type(
    chosen: str | None, first_of_pools: str | None, type_: str, first_type: str
) -> None:
    capacity = replace(CAPACITY, instance_type=first_of_pools)
    made = copies_variant(RECORD, SPECIFICATION, capacity, 1, wakes=False, generation=1, instance_type=chosen)
    assert made.copies is not None
    assert (made.name, made.instance_type, made.copies.first_type) == ("component.c.2", type_, first_type)


def test_a_specification_for_one_type_without_a_model_spreads_its_copies() -> None:
    own = ComponentSpecification(instance_type="ml.m5.large", resources=CopyResources(1))
    made = copies_variant(RECORD, own, CAPACITY, 1, wakes=False)
    assert made.copies is not None
    assert (made.model_name, made.copies.one_type, made.copies.binpack) == ("", True, False)


def test_copies_serve_the_adapters_of_their_model_and_the_same_ones_change_nothing() -> None:
    made = copies_variant(RECORD, SPECIFICATION, CAPACITY, 1, wakes=False)
    served = with_adapters(made, {"b": "s3://b", "a": "s3://a"})
    assert served.copies is not None
    assert served.copies.adapters == (("a", "s3://a"), ("b", "s3://b"))
    assert replace(served, copies=made.copies) == made
    assert with_adapters(served, {"a": "s3://a", "b": "s3://b"}) is served
    assert with_adapters(CAPACITY, {"a": "s3://a"}) is CAPACITY
