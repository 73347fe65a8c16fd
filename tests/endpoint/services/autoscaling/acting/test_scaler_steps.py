"""Step scaling invoked by alarms, scheduled actions, and changed bounds."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.endpoint.services.helpers.in_memory_autoscaling import OF
from tests.endpoint.services.helpers.scaling_of_fake_variant import NOON_S, FakeVariantScaler, FakeVariantScaling
from tests.helpers.waiting import PATIENCE_S, reached
from torpor_account.metrics.metrics import NO_CAPACITY_INVOCATION_FAILURES

DAY_S = 24 * 3600.0
FAILED = {"EndpointName": "ep", "VariantName": "v"}


def nobody_there(variant: FakeVariantScaler) -> None:
    """A request fails, since nothing runs."""
    variant.registry.series(NO_CAPACITY_INVOCATION_FAILURES, FAILED).add(1, variant.now_s)


def test_the_documented_way_out_of_zero(scaled: FakeVariantScaling) -> None:
    scaled.variant.wanted = scaled.variant.ready = 0
    scaled.register(MinCapacity=0)
    scaled.track()
    scaled.wake_by(scaled.step(MetricAggregationType="Maximum"))
    assert scaled.after(20 * 60) == 0
    nobody_there(scaled.variant)
    assert scaled.after(60) == 1
    [activity] = scaled.activities()
    assert activity["Cause"] == "monitor alarm nobody-there in state ALARM triggered policy step"
    assert scaled.after(20 * 60) == 0  # and nobody called again


def test_an_alarm_that_stays_invokes_its_policy_again_after_the_cooldown(scaled: FakeVariantScaling) -> None:
    scaled.register()
    scaled.wake_by(scaled.step(Cooldown=150))
    counts = []
    for _ in range(7):
        nobody_there(scaled.variant)
        counts.append(scaled.after(60))
    assert counts == [2, 2, 2, 3, 3, 3, 4]


def test_a_breach_invokes_the_policy_once_however_long_its_alarm_lasts(scaled: FakeVariantScaling) -> None:
    scaled.variant.restart(60.0)  # the cooldown is over after a second, and the minutes of alarms are what they are
    scaled.register()
    scaled.wake_by(scaled.step())
    nobody_there(scaled.variant)
    assert scaled.after(119) == 2
    assert scaled.after(120) == 2
    nobody_there(scaled.variant)
    assert scaled.after(60) == 3


def test_a_breach_that_has_become_too_old_for_its_alarm_invokes_the_policy_no_more(scaled: FakeVariantScaling) -> None:
    scaled.register()
    scaled.wake_by(scaled.step(Cooldown=10), Period=30, TreatMissingData="missing")
    nobody_there(scaled.variant)
    assert scaled.after(60) == 2
    assert [scaled.after(10) for _ in range(20)] == [2] * 20


def test_an_alarm_state_set_by_hand_invokes_the_policy_at_once(scaled: FakeVariantScaling) -> None:
    scaled.register()
    scaled.wake_by(scaled.step())
    scaled.cloudwatch.set_alarm_state(AlarmName="nobody-there", StateValue="ALARM", StateReason="drill")
    scaled.runner.run(scaled.variant.look())
    assert scaled.variant.wanted == 2
    items = scaled.cloudwatch.describe_alarm_history(AlarmName="nobody-there", HistoryItemType="Action")
    assert items["AlarmHistoryItems"][0]["HistorySummary"].startswith("Successfully executed action arn:aws:autoscal")


def test_disabled_actions_invoke_nothing_and_a_deleted_policy_is_in_the_history(scaled: FakeVariantScaling) -> None:
    scaled.register()
    scaled.wake_by(scaled.step(), ActionsEnabled=False)
    scaled.cloudwatch.set_alarm_state(AlarmName="nobody-there", StateValue="ALARM", StateReason="drill")
    assert scaled.after(10) == 1
    scaled.scaling.delete_scaling_policy(**OF, PolicyName="step")
    scaled.cloudwatch.enable_alarm_actions(AlarmNames=["nobody-there"])
    for state in ("OK", "ALARM"):
        scaled.cloudwatch.set_alarm_state(AlarmName="nobody-there", StateValue=state, StateReason="drill")
    items = scaled.cloudwatch.describe_alarm_history(AlarmName="nobody-there", HistoryItemType="Action")
    assert items["AlarmHistoryItems"][0]["HistorySummary"].startswith("Failed to execute action arn:aws:autoscaling")


def test_the_step_is_picked_by_how_far_the_metric_is_beyond(scaled: FakeVariantScaling) -> None:
    scaled.register(MaxCapacity=9)
    steps = [
        {"MetricIntervalLowerBound": 0.0, "MetricIntervalUpperBound": 3.0, "ScalingAdjustment": 1},
        {"MetricIntervalLowerBound": 3.0, "ScalingAdjustment": 5},
    ]
    scaled.wake_by(scaled.step(StepAdjustments=steps), Statistic="Sum")
    for _ in range(4):
        nobody_there(scaled.variant)
    assert scaled.after(60) == 6


def test_the_policy_shows_the_alarms_that_invoke_it(scaled: FakeVariantScaling) -> None:
    scaled.register()
    scaled.wake_by(scaled.step())
    [policy] = scaled.scaling.describe_scaling_policies(ServiceNamespace="sagemaker")["ScalingPolicies"]
    assert [alarm["AlarmName"] for alarm in policy["Alarms"]] == ["nobody-there"]


def test_a_step_scales_in_although_tracking_is_not_ready_to(scaled: FakeVariantScaling) -> None:
    scaled.variant.wanted = scaled.variant.ready = 2
    scaled.register()
    scaled.track()
    down = {"MetricIntervalUpperBound": 0.0, "ScalingAdjustment": -1}
    quiet = {"ComparisonOperator": "LessThanThreshold", "TreatMissingData": "breaching"}
    scaled.wake_by(scaled.step(StepAdjustments=[down]), **quiet)
    assert scaled.after(70) == 1


# -- bounds and schedules ----------------------------------------------------------------------------------------------


def test_registering_moves_the_capacity_into_the_bounds(scaled: FakeVariantScaling) -> None:
    scaled.register(MinCapacity=2)
    assert scaled.after(10) == 2
    scaled.scaling.register_scalable_target(**OF, MinCapacity=1, MaxCapacity=1)
    assert scaled.after(10) == 1
    causes = [activity["Cause"] for activity in scaled.activities()]
    assert causes == ["maximum capacity was set to 1", "minimum capacity was set to 2"]


def test_bounds_are_not_enforced_against_a_capacity_set_by_hand(scaled: FakeVariantScaling) -> None:
    scaled.register(MinCapacity=2)
    scaled.after(10)
    scaled.variant.wanted = scaled.variant.ready = 1
    assert scaled.after(30 * 60) == 1


def test_new_bounds_neither_wait_for_a_cooldown_nor_start_one(scaled: FakeVariantScaling) -> None:
    scaled.register()
    scaled.track()
    scaled.variant.per_minute = 100.0
    assert scaled.after(5 * 60) == 2
    scaled.register(MinCapacity=3)
    assert scaled.after(10) == 3


def test_a_scheduled_action_sets_bounds_at_its_time_in_its_time_zone(scaled: FakeVariantScaling) -> None:
    scaled.register()
    schedule(scaled, "at(2026-03-01T14:00:00)", Timezone="Europe/Berlin", MinCapacity=3, MaxCapacity=6)
    assert scaled.after(3590) == 1
    assert scaled.after(20) == 3
    moving, setting = sorted(scaled.activities(), key=lambda activity: str(activity["Description"]))
    assert setting["Description"] == "Setting min capacity to 3 and max capacity to 6"
    assert setting["Cause"] == "scheduled action name office was triggered"
    assert setting["StatusMessage"] == "Successfully set min capacity to 3 and max capacity to 6"
    assert (moving["Description"], moving["Cause"]) == (
        "Setting desired instance count to 3.",
        "minimum capacity was set to 3",
    )
    [target] = scaled.scaling.describe_scalable_targets(ServiceNamespace="sagemaker")["ScalableTargets"]
    assert (target["MinCapacity"], target["MaxCapacity"]) == (3, 6)


def test_a_rate_recurs_between_its_start_and_its_end(scaled: FakeVariantScaling) -> None:
    scaled.register()
    start, end = (datetime.fromtimestamp(NOON_S + seconds, UTC) for seconds in (300, 900))
    schedule(scaled, "rate(5 minutes)", StartTime=start, EndTime=end, MinCapacity=1)
    scaled.after(3600)
    assert len(scaled.activities()) == 3


@pytest.mark.parametrize(
    ("suspended", "bounds", "expected"),
    [
        (True, {"MinCapacity": 2}, []),
        (False, {"MinCapacity": 9}, ["Failed to set min capacity to 9 and max capacity to 4."]),
    ],
)
def test_a_scheduled_action_may_be_suspended_or_impossible(
    scaled: FakeVariantScaling, suspended: bool, bounds: dict[str, Any], expected: list[str]
) -> None:
    scaled.register(SuspendedState={"ScheduledScalingSuspended": suspended})
    schedule(scaled, "cron(5 12 * * ? *)", **bounds)
    assert scaled.after(600) == 1
    assert [activity["StatusMessage"].partition(" Reason")[0] for activity in scaled.activities()] == expected


def test_a_stored_action_with_an_impossible_schedule_does_not_stop_the_others(
    scaled: FakeVariantScaling, caplog: pytest.LogCaptureFixture
) -> None:
    scaled.register()
    schedule(scaled, "cron(5 12 * * ? *)", MinCapacity=2)
    [office] = scaled.variant.context.schedules.all()
    scaled.variant.context.schedules.put(replace(office, action_name="attic", schedule="cron(0 0 0W * ? *)"))
    assert scaled.after(600) == 2
    assert [record.getMessage() for record in caplog.records] == [
        "cannot calculate the next time of scheduled action attic: cron(0 0 0W * ? *)"
    ]


def test_a_clock_that_was_a_day_ahead_does_not_delay_scaling_by_a_day(scaled: FakeVariantScaling) -> None:
    scaled.register()
    scaled.track()
    schedule(scaled, "cron(30 12 * * ? *)", MaxCapacity=4)
    scaled.variant.now_s += DAY_S
    scaled.variant.per_minute = 100.0
    assert scaled.after(40 * 60) == 2
    scaled.variant.now_s = NOON_S
    scaled.variant.per_minute = 0.0
    assert scaled.after(40 * 60) == 1
    rebounded = [one for one in scaled.activities() if one["Cause"] == "scheduled action name office was triggered"]
    assert len(rebounded) == 3  # the day that was passed over, the next, and at last the right one


def test_nor_does_a_change_that_ended_right_before_the_clock_was_set_right(scaled: FakeVariantScaling) -> None:
    scaled.register()
    scaled.track()
    scaled.variant.now_s += DAY_S
    scaled.variant.per_minute = 100.0
    while scaled.after(scaled.variant.scale.look_s) == 1:
        assert scaled.variant.now_s < NOON_S + 2 * DAY_S
    scaled.variant.now_s = NOON_S
    scaled.variant.per_minute = 0.0
    assert scaled.after(40 * 60) == 1


def schedule(autoscaling: FakeVariantScaling, expression: str, **members: Any) -> None:
    bounds = {name: members.pop(name) for name in ("MinCapacity", "MaxCapacity") if name in members}
    named = {**OF, "ScheduledActionName": "office", "Schedule": expression}
    autoscaling.scaling.put_scheduled_action(**named, ScalableTargetAction=bounds, **members)


def test_the_chore_looks_at_once_when_something_was_registered(scaled: FakeVariantScaling) -> None:
    async def chore() -> int:
        running = asyncio.create_task(scaled.variant.scaler.run())
        await asyncio.sleep(0)
        target = scaled.variant.context.targets.all()[0]
        await asyncio.to_thread(scaled.variant.context.bounded, target)
        await reached(lambda: scaled.variant.wanted == 3, 5.0, 0.001)  # the next look is in ten seconds
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return scaled.variant.wanted

    scaled.register(MinCapacity=3)
    scaled.variant.context.new_bounds.take()
    assert scaled.runner.run(asyncio.wait_for(chore(), PATIENCE_S)) == 3


@pytest.mark.parametrize("turns", range(1, 9))
def test_new_bounds_are_heeded_whenever_they_come_during_a_look(scaled: FakeVariantScaling, turns: int) -> None:
    async def look() -> None:
        with ThreadPoolExecutor(1) as threads, ThreadPoolExecutor(1) as elsewhere:
            asyncio.get_running_loop().set_default_executor(threads)
            looking = asyncio.create_task(scaled.variant.look())
            for _ in range(turns):
                await asyncio.sleep(0)
                threads.submit(int).result()  # what the look has begun to read is read
            elsewhere.submit(scaled.register, MinCapacity=3).result()
            await looking
            await scaled.variant.look()

    scaled.register()
    asyncio.run(look())
    assert scaled.variant.wanted == 3
