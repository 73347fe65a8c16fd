"""The moves of endpoints and instances: every row of the tables, and the moves that no table may allow."""

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.helpers.example_counts import tries
from torpor_endpoint.core.lifecycle import (
    ENDPOINT_MOVES,
    INSTANCE_MOVES,
    SERVING,
    EndpointEvent,
    IllegalMove,
    InstanceEvent,
    InstancePhase,
    after,
    confined,
    may,
    move,
    move_instance,
)
from torpor_endpoint.core.resource_records import Container, EndpointRecord, EndpointStatus, Variant

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
    (S.ROLLING_BACK, E.ROLLBACK_FAILED): S.UPDATE_ROLLBACK_FAILED,
    (S.UPDATE_ROLLBACK_FAILED, E.UPDATE): S.UPDATING,
    (S.UPDATE_ROLLBACK_FAILED, E.DELETE): S.DELETING,
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
    assert set(S) - {S.CREATING, S.DELETING, S.FAILED} == SERVING


@given(st.lists(st.sampled_from(InstanceEvent)))
def test_a_gone_instance_stays_gone_and_a_draining_one_never_serves_again(
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


def test_an_illegal_move_says_what_cannot_happen_where() -> None:
    assert str(IllegalMove(S.DELETING, E.UPDATE)) == "EndpointStatus 'Deleting' has no move for 'update'"
    assert [event.value for event in E] == ["ready", "failed", "update", "rolled back", "rollback failed", "delete"]
    assert [phase.value for phase in InstancePhase] == ["starting", "ready", "draining", "gone"]
    assert [event.value for event in InstanceEvent] == ["ping ok", "died", "timed out", "retire", "last reply"]


@pytest.mark.parametrize(("status", "then"), [(S.UPDATING, S.IN_SERVICE), (S.ROLLING_BACK, S.UPDATE_ROLLBACK_FAILED)])
def test_an_endpoint_of_which_only_the_new_configuration_can_be_served_has_that_one(
    status: EndpointStatus, then: EndpointStatus
) -> None:
    before = replace(updating(), status=status, pending_config_name="new", pending_variants=(variant("new"),))
    found = confined(before, "the old one is gone")
    assert (found.status, found.failure_reason) == (then, "the old one is gone")
    assert (found.config_name, found.variants) == ("new", (variant("new"),))
    assert (found.pending_config_name, found.pending_variants) == (None, None)


Moves = Mapping[Any, Mapping[Any, Any]]


def path_to_an_end(moves: Moves, state: StrEnum) -> list[StrEnum]:
    """The shortest way to a state that only leads to itself."""
    paths: list[tuple[StrEnum, list[StrEnum]]] = [(state, [])]
    for here, path in paths:  # it grows meanwhile
        if set(moves[here].values()) <= {here}:
            return path
        paths += [(there, [*path, event]) for event, there in moves[here].items() if event not in path]
    raise AssertionError(f"{state} leads to no end")


class EndpointLife(RuleBasedStateMachine):
    """After any operations on an endpoint, its record is consistent, and it can be deleted."""

    def __init__(self) -> None:
        super().__init__()
        self.endpoint = replace(updating(), status=S.CREATING, pending_config_name=None, pending_variants=None)

    @rule(event=st.sampled_from(E))
    def happens(self, event: EndpointEvent) -> None:
        before = self.endpoint
        if not may(before.status, event):
            with pytest.raises(IllegalMove):
                after(before, event)
            return
        if event is E.UPDATE:
            self.endpoint = replace(before, pending_config_name="new", pending_variants=(variant("new"),))
        self.endpoint = after(self.endpoint, event, "it is broken" if event is E.FAILED else None)

    @invariant()
    def only_an_update_has_something_pending(self) -> None:
        updates = self.endpoint.status in (S.UPDATING, S.ROLLING_BACK, S.UPDATE_ROLLBACK_FAILED)
        assert (self.endpoint.pending_variants is not None) == updates
        assert (self.endpoint.pending_config_name is not None) == updates

    @invariant()
    def a_failure_has_its_reason(self) -> None:
        failed = self.endpoint.status in (S.FAILED, S.ROLLING_BACK, S.UPDATE_ROLLBACK_FAILED)
        assert self.endpoint.failure_reason or not failed

    def teardown(self) -> None:
        for event in path_to_an_end(ENDPOINT_MOVES, self.endpoint.status):
            self.endpoint = after(self.endpoint, E(event))
        assert self.endpoint.status is S.DELETING


class InstanceLife(RuleBasedStateMachine):
    """After any events, an instance has only moved forward, and it can still end."""

    def __init__(self) -> None:
        super().__init__()
        self.phase = InstancePhase.STARTING
        self.been = {self.phase}

    @rule(event=st.sampled_from(InstanceEvent))
    def happens(self, event: InstanceEvent) -> None:
        if event not in INSTANCE_MOVES[self.phase]:
            with pytest.raises(IllegalMove, match=f"'{self.phase.value}' has no move for '{event.value}'"):
                move_instance(self.phase, event)
            return
        before, self.phase = self.phase, move_instance(self.phase, event)
        assert self.phase is before or self.phase not in self.been
        self.been.add(self.phase)

    @invariant()
    def it_drains_only_what_was_ready(self) -> None:
        assert InstancePhase.DRAINING not in self.been or InstancePhase.READY in self.been

    def teardown(self) -> None:
        for event in path_to_an_end(INSTANCE_MOVES, self.phase):
            self.phase = move_instance(self.phase, InstanceEvent(event))
        assert self.phase is InstancePhase.GONE


LIVES = settings(max_examples=tries(20), stateful_step_count=20, deadline=None)
EndpointLife.TestCase.settings = InstanceLife.TestCase.settings = LIVES
TestEndpointLife = EndpointLife.TestCase
TestInstanceLife = InstanceLife.TestCase


def test_a_pending_configuration_takes_effect_once_ready() -> None:
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
    return Variant(name, "model", (Container("torpor"),))


def updating() -> EndpointRecord:
    old, new = (variant("old"),), (variant("new"),)
    return EndpointRecord("e", "arn", 1.0, 2.0, S.UPDATING, "old", old, pending_config_name="new", pending_variants=new)
