"""The moves of an inference component: every row of the table, and what each does to a pending update."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.core.components.component_lifecycle import (
    ANSWERING,
    COMPONENT_MOVES,
    ComponentEvent,
    component_after,
    may_component,
    move_component,
)
from torpor_endpoint.core.components.component_records import (
    ComponentRecord,
    ComponentSpecification,
    ComponentStatus,
)
from torpor_endpoint.core.lifecycle import IllegalMove

S, E = ComponentStatus, ComponentEvent

DOCUMENTED = {
    (S.CREATING, E.READY): S.IN_SERVICE,
    (S.CREATING, E.FAILED): S.FAILED,
    (S.IN_SERVICE, E.UPDATE): S.UPDATING,
    (S.IN_SERVICE, E.RESCALE): S.UPDATING,
    (S.IN_SERVICE, E.FAILED): S.FAILED,
    (S.IN_SERVICE, E.DELETE): S.DELETING,
    (S.UPDATING, E.READY): S.IN_SERVICE,
    (S.UPDATING, E.ROLLED_BACK): S.IN_SERVICE,
    (S.UPDATING, E.FAILED): S.FAILED,
    (S.FAILED, E.DELETE): S.DELETING,
}
OLD, NEW = ComponentSpecification(model_name="old"), ComponentSpecification(model_name="new")
ROLLING = {"RollingUpdatePolicy": {"WaitIntervalInSeconds": 0}}


def component(status: ComponentStatus = S.IN_SERVICE, **changes: object) -> ComponentRecord:
    record = ComponentRecord("c", "arn:c", 1.0, 1.0, status, "e", "arn:e", 0.5, "v", (OLD,), 2)
    return replace(record, **changes)  # type: ignore[arg-type]  # the fields are of several types


def updating() -> ComponentRecord:
    return component(S.UPDATING, pending_specifications=(NEW,), pending_copies=3, pending_deployment=ROLLING)


@pytest.mark.parametrize("status", S)
@pytest.mark.parametrize("event", E)
def test_a_component_moves_as_its_table_says_and_in_no_other_way(
    status: ComponentStatus, event: ComponentEvent
) -> None:
    expected = DOCUMENTED.get((status, event))
    assert may_component(status, event) == (expected is not None)
    if expected is None:
        with pytest.raises(IllegalMove, match=status.value):
            move_component(status, event)
    else:
        assert move_component(status, event) is expected


def test_every_status_has_its_row_and_those_that_answer_may_be_left() -> None:
    assert set(COMPONENT_MOVES) == set(S)
    assert all(COMPONENT_MOVES[status] for status in ANSWERING)


def test_a_finished_update_is_what_the_component_is() -> None:
    done = component_after(updating(), E.READY)
    assert (done.specifications, done.copies, done.deployment) == ((NEW,), 3, ROLLING)
    assert (done.pending_specifications, done.pending_copies, done.pending_deployment) == (None, None, None)


@pytest.mark.parametrize("event", [E.ROLLED_BACK, E.FAILED])
def test_an_update_that_ends_without_success_leaves_the_old_component_and_its_reason(event: ComponentEvent) -> None:
    back = component_after(updating(), event, "an alarm rang" + "!" * 2000)
    assert (back.specifications, back.copies, back.desired_copies) == ((OLD,), 2, 2)
    assert (back.failure_reason or "").startswith("an alarm rang")
    assert len(back.failure_reason or "") == 1024
    assert back.deployment == ROLLING  # the last one that was used
    if event is E.ROLLED_BACK:
        assert component_after(back, E.UPDATE).failure_reason is None


def test_other_copies_alone_keep_the_specification_and_the_last_deployment() -> None:
    rescaled = component(S.UPDATING, pending_copies=0, deployment=ROLLING)
    assert rescaled.desired_copies == 0
    done = component_after(rescaled, E.READY)
    assert (done.specifications, done.copies, done.deployment) == ((OLD,), 0, ROLLING)


@given(st.lists(st.sampled_from(E), max_size=12))
def test_whatever_happens_nothing_is_pending_unless_it_is_updated(events: list[ComponentEvent]) -> None:
    record = component(S.CREATING)
    for event in events:
        if not may_component(record.status, event):
            continue
        pending = {"pending_copies": 5, "pending_specifications": (NEW,)} if event in (E.UPDATE, E.RESCALE) else {}
        record = component_after(replace(record, **pending), event)  # type: ignore[arg-type]  # of two types
        assert record.status is S.UPDATING or (record.pending_copies, record.pending_specifications) == (None, None)


def test_each_instance_type_has_its_specification() -> None:
    g5, g6 = replace(OLD, instance_type="ml.g5.xlarge"), replace(NEW, instance_type="ml.g6.xlarge")
    both = component(specifications=(g5, g6))
    assert both.specification_on("ml.g6.xlarge") == g6
    assert both.specification_on("ml.m5.large") is None
    assert component().specification_on("ml.m5.large") == OLD
