"""The moves of endpoints and instances: every row of the tables, and what no table may allow."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.core.lifecycle import (
    ENDPOINT_MOVES,
    INSTANCE_MOVES,
    SERVING,
    EndpointEvent,
    IllegalMove,
    InstanceEvent,
    InstancePhase,
    after,
    may,
    move,
    move_instance,
)
from torpor_endpoint.records import Container, Endpoint, EndpointStatus, Variant

S, E = EndpointStatus, EndpointEvent

# The status machine as AWS documents it, row by row.
DOCUMENTED = {
    (S.CREATING, E.READY): S.IN_SERVICE,
    (S.CREATING, E.FAILED): S.FAILED,
    (S.IN_SERVICE, E.UPDATE): S.UPDATING,
    (S.IN_SERVICE, E.DELETE): S.DELETING,
    (S.UPDATING, E.READY): S.IN_SERVICE,
    (S.UPDATING, E.FAILED): S.ROLLING_BACK,
    (S.ROLLING_BACK, E.ROLLED_BACK): S.IN_SERVICE,
    (S.FAILED, E.DELETE): S.DELETING,
}


@pytest.mark.parametrize("status", S)
@pytest.mark.parametrize("event", E)
def test_an_endpoint_moves_as_documented_and_in_no_other_way(status: EndpointStatus, event: EndpointEvent) -> None:
    expected = DOCUMENTED.get((status, event))
    assert may(status, event) == (expected is not None)
    if expected is None:
        with pytest.raises(IllegalMove, match=status.value):
            move(status, event)
    else:
        assert move(status, event) is expected


def test_every_state_has_its_row() -> None:
    assert set(ENDPOINT_MOVES) == set(EndpointStatus)
    assert set(INSTANCE_MOVES) == set(InstancePhase)


def test_an_endpoint_that_serves_is_never_one_that_failed_or_goes() -> None:
    assert {S.IN_SERVICE, S.UPDATING, S.ROLLING_BACK} == SERVING


@given(st.lists(st.sampled_from(InstanceEvent)))
def test_an_instance_that_is_gone_stays_gone_and_one_that_drains_never_serves_again(
    events: list[InstanceEvent],
) -> None:
    phases = [InstancePhase.STARTING]
    for event in events:
        if event in INSTANCE_MOVES[phases[-1]]:
            phases.append(move_instance(phases[-1], event))
    order = list(InstancePhase)
    assert phases == sorted(phases, key=order.index)


@pytest.mark.parametrize("phase", [p for p in InstancePhase if p is not InstancePhase.GONE])
def test_an_instance_that_dies_is_gone_whatever_it_did(phase: InstancePhase) -> None:
    assert move_instance(phase, InstanceEvent.DIED) is InstancePhase.GONE


def test_a_draining_instance_waits_for_its_last_reply() -> None:
    draining = move_instance(InstancePhase.READY, InstanceEvent.RETIRE)
    assert draining is InstancePhase.DRAINING
    assert move_instance(draining, InstanceEvent.LAST_REPLY) is InstancePhase.GONE
    with pytest.raises(IllegalMove):
        move_instance(InstancePhase.STARTING, InstanceEvent.LAST_REPLY)


def test_what_was_pending_is_so_once_ready() -> None:
    ready = after(updating(), E.READY)
    assert (ready.status, ready.config_name, ready.variants) == (S.IN_SERVICE, "new", (variant("new"),))
    assert (ready.pending_config_name, ready.pending_variants, ready.failure_reason) == (None, None, None)


def test_a_failed_update_rolls_back_to_what_was_and_remembers_why() -> None:
    rolling = after(updating(), E.FAILED, reason="no such image")
    assert rolling.status is S.ROLLING_BACK
    back = after(rolling, E.ROLLED_BACK)
    assert (back.status, back.config_name, back.variants) == (S.IN_SERVICE, "old", (variant("old"),))
    assert (back.pending_variants, back.failure_reason) == (None, "no such image")


def variant(name: str) -> Variant:
    return Variant(name, "model", Container("torpor"))


def updating() -> Endpoint:
    old, new = (variant("old"),), (variant("new"),)
    return Endpoint("e", "arn", 1.0, 2.0, S.UPDATING, "old", old, pending_config_name="new", pending_variants=new)
