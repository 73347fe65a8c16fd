"""The state machine of rollouts: stories of each strategy, and what holds in all of them."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_container.typed_json import read, written
from torpor_endpoint.core.rollouts.rollout import (
    BACKWARD,
    ENDS,
    MOVES,
    FleetSizes,
    FleetTarget,
    Rollout,
    RolloutEvent,
    RolloutPhase,
)
from torpor_endpoint.core.rollouts.rollout_policy import CapacitySize, RolloutPolicy, Share, SizeType, Strategy
from torpor_endpoint.core.rollouts.variant_statuses import status_of

COUNT, PERCENT = SizeType.INSTANCE_COUNT, SizeType.CAPACITY_PERCENT
TENTH = CapacitySize(PERCENT, 10)
CANARY = RolloutPolicy(Strategy.CANARY, TENTH, wait_s=300, termination_wait_s=600, alarms=("latency",))
ROLLING = RolloutPolicy(Strategy.ROLLING, CapacitySize(COUNT, 1), wait_s=60, alarms=("latency",))
FOUR = (FleetSizes("all", 4, 4),)


@dataclass
class Driven:
    """A rollout that is carried out at once, by a clock of the test."""

    rollout: Rollout
    now_s: float = 1000.0
    seen: list[Rollout] = field(default_factory=list)

    @classmethod
    def of(cls, policy: RolloutPolicy, fleets: tuple[FleetSizes, ...] = FOUR) -> "Driven":
        return cls(Rollout(policy).begun(fleets, 1000.0))

    @property
    def target(self) -> FleetTarget:
        return self.rollout.targets()["all"]

    def settle(self) -> "Driven":
        """Carry out the targets until it waits, or has ended."""
        while True:
            self.seen.append(self.rollout)
            moved = self.rollout.settled(self.now_s)
            if moved == self.rollout:
                return self
            self.rollout = moved

    def after(self, seconds: float, alarms: Collection[str] = ()) -> "Driven":
        self.now_s += seconds
        self.rollout = self.rollout.looked(alarms, self.now_s)
        return self.settle()

    def fail(self, reason: str) -> "Driven":
        self.rollout = self.rollout.failed(reason, self.now_s)
        return self


def test_a_canary_bakes_and_then_gets_all_traffic() -> None:
    driven = Driven.of(CANARY).settle()
    assert (driven.rollout.phase, driven.target) == (RolloutPhase.BAKING, FleetTarget(4, 4, Share(10, 100)))
    assert driven.after(299).target.share == Share(10, 100)
    assert driven.after(1).target == FleetTarget(4, 4, Share(1, 1))
    driven.after(599)
    assert driven.rollout.phase is RolloutPhase.BAKING
    driven.after(1)
    assert (driven.rollout.phase, driven.target) == (RolloutPhase.FINISHED, FleetTarget(0, 4, Share(1, 1)))


def test_a_linear_rollout_takes_step_after_step() -> None:
    driven = Driven.of(RolloutPolicy(Strategy.LINEAR, CapacitySize(PERCENT, 25), wait_s=600)).settle()
    shares = [driven.target.share.fraction]
    while not driven.rollout.ended:
        shares.append(driven.after(driven.rollout.due_in_s(driven.now_s)).target.share.fraction)
    assert shares == [0.25, 0.5, 0.75, 1, 1]  # the last wait is over at once, and the blue fleet ends
    assert driven.now_s == 1000 + 3 * 600


def test_an_alarm_while_it_bakes_brings_all_traffic_back() -> None:
    driven = Driven.of(CANARY).settle()
    rolled = replace(driven).after(1, ["latency"])
    assert (rolled.rollout.phase, rolled.target) == (RolloutPhase.ROLLED_BACK, FleetTarget(4, 0, Share(0, 1)))
    assert rolled.rollout.reason == "CloudWatch alarms went off while the deployment baked: latency."
    assert driven.after(1, ["another"]).rollout.phase is RolloutPhase.BAKING


def test_no_alarm_counts_before_it_bakes() -> None:
    driven = Driven.of(CANARY)
    assert driven.rollout.looked(["latency"], 1001.0) == driven.rollout


def test_the_time_limit_ends_a_rollout_also_while_it_bakes() -> None:
    driven = Driven.of(replace(CANARY, execution_timeout_s=700)).settle().after(300)
    assert driven.rollout.due_in_s(driven.now_s) == 400
    driven.after(400)
    assert driven.rollout.phase is RolloutPhase.ROLLED_BACK
    assert driven.rollout.reason == "The deployment exceeded MaximumExecutionTimeoutInSeconds: 700."


def test_a_rollout_that_cannot_start_rolls_back() -> None:
    driven = Driven.of(CANARY).fail("no ping").settle()
    assert (driven.rollout.phase, driven.rollout.reason) == (RolloutPhase.ROLLED_BACK, "no ping")


def test_a_planned_rollout_that_nothing_was_begun_of_rolls_back() -> None:
    driven = Driven(Rollout(CANARY)).fail("the image is unknown").settle()
    assert driven.rollout.phase is RolloutPhase.ROLLED_BACK


def test_a_rolling_update_replaces_batch_after_batch() -> None:
    driven = Driven.of(ROLLING).settle()
    baked = [driven.target]
    while not driven.rollout.ended:
        baked.append(driven.after(60).target)
    assert baked == [FleetTarget(4 - n, n + 1, Share(n + 1, 4)) for n in range(4)] + [FleetTarget(0, 4, Share(4, 4))]


def test_a_rolling_update_rolls_back_all_at_once_unless_told() -> None:
    driven = Driven.of(ROLLING).settle().after(60).after(60)
    assert driven.target == FleetTarget(2, 3, Share(3, 4))
    back = replace(driven, seen=[]).after(1, ["latency"])
    assert [(one.phase, one.targets()["all"]) for one in back.seen] == [
        (RolloutPhase.RESTORING, FleetTarget(4, 3, Share(3, 4))),
        (RolloutPhase.RETURNING, FleetTarget(4, 3, Share(0, 4))),
        (RolloutPhase.REMOVING, FleetTarget(4, 0, Share(0, 4))),
        (RolloutPhase.ROLLED_BACK, FleetTarget(4, 0, Share(0, 1))),
    ]


def test_a_rolling_update_rolls_back_by_batches() -> None:
    policy = replace(ROLLING, rollback_size=CapacitySize(COUNT, 2))
    driven = Driven.of(policy).settle().after(60).after(60)
    driven.seen.clear()
    driven.after(1, ["latency"])
    restored = [one.targets()["all"] for one in driven.seen if one.phase is RolloutPhase.RESTORING]
    assert restored == [FleetTarget(3, 3, Share(3, 4)), FleetTarget(4, 1, Share(1, 4))]
    assert driven.rollout.phase is RolloutPhase.ROLLED_BACK


def test_a_rollback_without_room_for_all_goes_by_batches_of_the_update() -> None:
    driven = Driven.of(ROLLING).settle().after(60).after(60)
    driven.rollout = driven.rollout.looked(["latency"], driven.now_s)
    assert driven.target == FleetTarget(4, 3, Share(3, 4))
    driven.rollout = driven.rollout.narrowed()
    assert driven.rollout.narrowed() is driven.rollout
    driven.seen.clear()
    driven.settle()
    restored = [one.targets()["all"] for one in driven.seen if one.phase is RolloutPhase.RESTORING]
    assert restored == [FleetTarget(2 + n, 3 - n, Share(3 - n, 4)) for n in range(3)]
    assert driven.rollout.phase is RolloutPhase.ROLLED_BACK


def test_a_rollback_that_cannot_start_the_old_instances_stays_between() -> None:
    driven = Driven.of(ROLLING).settle().after(60)
    driven.fail("an instance died").fail("no ping")
    assert driven.rollout.phase is RolloutPhase.STUCK
    assert driven.rollout.reason == "an instance died The rollback failed: no ping"
    assert driven.target.share == Share(2, 4)


def test_a_clock_that_is_set_back_makes_a_bake_at_most_twice_as_long() -> None:
    driven = Driven.of(replace(CANARY, execution_timeout_s=3600)).settle().after(200)
    driven.now_s = -86_400.0
    assert driven.rollout.due_in_s(driven.now_s) > 86_400
    driven.after(0)
    assert (driven.rollout.phase, driven.rollout.due_in_s(driven.now_s)) == (RolloutPhase.BAKING, 300)
    assert driven.rollout.started_s == driven.now_s
    assert driven.after(300).rollout.step == 2


def test_a_rollback_to_an_old_fleet_that_cannot_serve_leaves_all_traffic_on_the_new_one() -> None:
    driven = Driven.of(CANARY).settle()
    driven.rollout = driven.rollout.looked(["latency"], driven.now_s)
    assert driven.rollout.phase is RolloutPhase.RETURNING
    driven.fail("no ping")
    assert (driven.rollout.phase, driven.target) == (RolloutPhase.STUCK, FleetTarget(4, 4, Share(1, 1)))
    assert (driven.rollout.reason or "").endswith("The rollback failed: no ping")


def test_a_rollback_before_any_traffic_was_shifted_needs_nothing_of_the_old_fleet() -> None:
    driven = Driven.of(CANARY)
    driven.fail("no ping").fail("no ping either")
    assert driven.settle().rollout.phase is RolloutPhase.ROLLED_BACK


def test_a_step_bakes_from_its_beginning_after_a_restart() -> None:
    driven = Driven.of(CANARY).settle().after(299)
    driven.rollout = driven.rollout.resumed(driven.now_s)
    assert driven.rollout.due_in_s(driven.now_s) == 300


@pytest.mark.parametrize("policy", [CANARY, ROLLING])
def test_a_new_fleet_that_can_no_longer_be_served_is_left_in_every_phase_but_an_end(policy: RolloutPolicy) -> None:
    driven = Driven.of(policy).settle()
    while not driven.rollout.ended:
        driven.after(600)
    *phases, end = driven.seen
    assert end.abandoned("no image", 9.0) is end
    assert RolloutPhase.DELETING in {one.phase for one in phases}
    for rollout in phases:
        back = Driven(rollout.abandoned("no image", 9.0)).settle().rollout
        assert (back.phase, back.reason) == (RolloutPhase.ROLLED_BACK, "no image")


def test_waits_and_limit_shrink_by_the_pace() -> None:
    rollout = Rollout(replace(CANARY, execution_timeout_s=600)).begun(FOUR, 0.0, pace=100)
    assert rollout.due_in_s(0.0) == 6
    assert rollout.settled(0.0).settled(0.0).due_in_s(0.0) == 3


def test_a_rollout_survives_its_record() -> None:
    driven = Driven.of(replace(ROLLING, execution_timeout_s=900)).settle().after(60).after(1, ["latency"])
    assert all(read(Rollout, written(one)) == one for one in driven.seen)


def test_every_phase_has_its_row_and_only_ends_have_no_move() -> None:
    assert set(MOVES) == set(RolloutPhase)
    assert {phase for phase, moves in MOVES.items() if not moves} == ENDS
    assert not any(after not in BACKWARD for phase in BACKWARD for after in MOVES[phase].values())
    assert {event for moves in MOVES.values() for event in moves} == set(RolloutEvent)


@pytest.mark.parametrize(
    ("phase", "sentence"),
    [
        (RolloutPhase.CREATING, "Launching 4 instance(s)."),
        (RolloutPhase.ACTIVATING, "Activating traffic on canary capacity of 1 instance(s)."),
        (
            RolloutPhase.BAKING,
            "Baking for 300 seconds (WaitIntervalInSeconds) with traffic enabled on canary capacity of 1 instance(s).",
        ),
    ],
)
def test_a_variant_tells_what_is_done_to_it(phase: RolloutPhase, sentence: str) -> None:
    driven = Driven.of(CANARY).settle()
    told = status_of(next(one for one in driven.seen if one.phase is phase), "all")
    assert told is not None
    assert told.message == sentence


def test_the_last_wait_names_its_setting_and_the_old_fleet_ends() -> None:
    driven = Driven.of(CANARY).settle().after(300)
    told = status_of(driven.rollout, "all")
    assert told is not None
    assert told.message.startswith("Baking for 600 seconds (TerminationWaitInSeconds) with traffic enabled on full")
    ending = status_of(driven.rollout.looked((), 9e9), "all")
    assert ending is not None
    assert (ending.state, ending.message) == ("Deleting", "Terminating 4 instance(s).")


# -- what holds in every rollout -----------------------------------------------------------------------------------
SIZES = st.builds(CapacitySize, st.sampled_from(SizeType), st.integers(1, 50))
POLICIES = st.builds(
    RolloutPolicy,
    st.sampled_from(Strategy),
    SIZES,
    st.integers(0, 100),
    st.integers(0, 100),
    st.none() | st.integers(600, 900),
    SIZES,
    st.just(("latency",)),
)
FLEETS = st.builds(FleetSizes, st.sampled_from(["all"]), st.integers(0, 9), st.integers(0, 9))
HAPPENINGS = st.lists(st.sampled_from(["settled", "settled", "settled", "due", "due", "alarm", "failed", "restart"]))


@given(POLICIES, FLEETS, HAPPENINGS)
def test_every_rollout_ends_in_the_new_fleet_or_in_the_old_one(
    policy: RolloutPolicy, fleet: FleetSizes, happenings: list[str]
) -> None:
    now_s, rollout = 0.0, Rollout(policy).begun((fleet,), 0.0)
    for happens in [*happenings, *["settled", "due"] * 300]:
        before, was = rollout, rollout.targets()["all"]
        match happens:
            case "settled":
                rollout = rollout.settled(now_s)
            case "due":
                wait_s = rollout.due_in_s(now_s)
                now_s += wait_s if wait_s < 1e6 else 0.0
                rollout = rollout.looked((), now_s)
            case "alarm":
                rollout = rollout.looked(("latency",), now_s)
            case "failed":
                rollout = rollout.failed("no ping", now_s)
            case "restart":
                rollout = read(Rollout, written(rollout)).resumed(now_s)
        _check(before, was, rollout, fleet)
    target = rollout.targets()["all"]
    assert rollout.ended
    if rollout.phase is RolloutPhase.FINISHED:
        assert (target.blue, target.green, target.share.is_all) == (0, fleet.green, True)
    elif rollout.phase is RolloutPhase.ROLLED_BACK:
        assert (target.blue, target.green, target.share.part) == (fleet.blue, 0, 0)
        assert rollout.reason
    else:
        assert policy.rolling or (target.green, target.share.is_all) == (fleet.green, True)
        assert rollout.reason


def _check(before: Rollout, was: FleetTarget, now: Rollout, fleet: FleetSizes) -> None:
    target = now.targets()["all"]
    if not now.going_back:
        assert target.share.fraction >= was.share.fraction, "traffic returns only by a rollback"
    if before.phase is RolloutPhase.BAKING and now.going_back and not now.policy.rolling:
        assert target.share.part == 0, "a rollback of blue/green brings all traffic back at once"
    if now.going_back and before.going_back and (now.policy.rolling or now.phase is not RolloutPhase.STUCK):
        assert target.share.fraction <= was.share.fraction, "a rollback goes on"
    if fleet.blue == fleet.green and fleet.blue:
        size = max(now.policy.step_size.instances(fleet.green), now.policy.rollback_size.instances(fleet.blue))
        present = min(was.blue, target.blue) + min(was.green, target.green)  # what starts in this move serves not yet
        assert present >= fleet.blue or now.phase in (RolloutPhase.CREATING, RolloutPhase.RESTORING)
        assert target.blue + target.green >= fleet.blue
        if now.policy.rolling:
            assert target.blue + target.green <= fleet.blue + size, "at most one batch beyond the fleet"
    if target.share.part:
        assert target.green >= 1 or not fleet.green, "no traffic for a fleet of nothing"
    if not target.share.is_all and fleet.blue:
        assert target.blue >= 1, "no traffic for an old fleet of nothing"
