"""Target tracking over time: the number of instances follows the load, at AWS's pace and at shorter ones."""

import asyncio
from typing import Any

import pytest

from tests.endpoint.services.helpers.in_memory_autoscaling import CONCURRENCY, OF
from tests.endpoint.services.helpers.scaling_of_fake_variant import NOON_S, FakeVariantScaler, FakeVariantScaling
from torpor_account.cloudwatch.alarms.alarm_record import Standing
from torpor_account.cloudwatch.alarms.alarm_store import Alarms
from torpor_account.metrics.registry import key_of
from torpor_endpoint.services.autoscaling.acting.change import Busy, NotApplied
from torpor_endpoint.services.autoscaling.context import left_to_the_policy

CPU: dict[str, Any] = {
    "MetricName": "CPUUtilization",
    "Namespace": "/aws/sagemaker/Endpoints",
    "Dimensions": [{"Name": "EndpointName", "Value": "ep"}],
    "Statistic": "Average",
}


def test_load_brings_instances_after_three_minutes_and_a_lag_and_takes_them_after_fifteen(
    scaled: FakeVariantScaling,
) -> None:
    scaled.register()
    scaled.track()
    scaled.variant.per_minute = 100.0
    assert scaled.after(3 * 60 + 50) == 1
    assert scaled.after(10) == 2
    scaled.variant.per_minute = 0.0
    assert scaled.after(15 * 60 + 50) == 2
    assert scaled.after(10) == 1


def test_a_time_scale_shortens_every_delay_and_not_the_rates(scaled: FakeVariantScaling) -> None:
    scaled.variant.restart(60.0)
    scaled.register()
    scaled.track()
    scaled.variant.per_minute = 120.0
    assert scaled.after(4) == 1
    assert scaled.after(1) == 2
    scaled.variant.per_minute = 0.0
    assert scaled.after(15) == 2
    assert scaled.after(1) == 1


def test_an_activity_has_its_description_and_cause_in_awss_words(scaled: FakeVariantScaling) -> None:
    scaled.register()
    scaled.track()
    scaled.variant.per_minute = 200.0
    scaled.after(6 * 60)
    [activity] = scaled.activities(ResourceId=OF["ResourceId"])
    assert activity["Description"] == "Setting desired instance count to 4."
    assert activity["Cause"].startswith("monitor alarm TargetTracking-endpoint/ep/variant/v-AlarmHigh-")
    assert activity["Cause"].endswith(" in state ALARM triggered policy track")
    assert activity["StatusCode"] == "Successful"
    assert activity["StatusMessage"] == (
        "Successfully set desired instance count to 4. Change successfully fulfilled by sagemaker."
    )
    assert NOON_S < activity["StartTime"].timestamp() <= activity["EndTime"].timestamp()


def test_the_two_alarms_of_target_tracking_follow_the_metric(scaled: FakeVariantScaling) -> None:
    scaled.register(MaxCapacity=1)
    scaled.track()
    assert scaled.states() == {"AlarmHigh": "INSUFFICIENT_DATA", "AlarmLow": "INSUFFICIENT_DATA"}
    scaled.variant.per_minute = 120.0
    scaled.after(6 * 60)
    assert scaled.states() == {"AlarmHigh": "ALARM", "AlarmLow": "OK"}
    [high] = scaled.cloudwatch.describe_alarms(StateValue="ALARM")["MetricAlarms"]
    assert high["StateReason"].startswith("Threshold Crossed: 3 out of the last 3 datapoints [120.0 (")
    scaled.variant.per_minute = 0.0
    scaled.after(17 * 60)
    assert scaled.states() == {"AlarmHigh": "OK", "AlarmLow": "ALARM"}


def test_a_target_at_its_maximum_records_the_reason_once(scaled: FakeVariantScaling) -> None:
    scaled.register(MaxCapacity=1)
    scaled.track()
    scaled.variant.per_minute = 100.0
    scaled.after(10 * 60)
    assert scaled.activities() == []
    [activity] = scaled.activities(IncludeNotScaledActivities=True)
    assert activity["NotScaledReasons"] == [{"Code": "AlreadyAtMaxCapacity", "MaxCapacity": 1}]
    assert (activity["Description"], activity["StatusCode"]) == ("Attempting to scale due to alarm triggered", "Failed")


def test_more_load_is_followed_within_a_cooldown_and_less_is_not(scaled: FakeVariantScaling) -> None:
    scaled.register()
    scaled.track(ScaleOutCooldown=3600, ScaleInCooldown=0)
    scaled.variant.per_minute = 100.0
    assert scaled.after(6 * 60) == 2
    scaled.variant.per_minute = 230.0
    assert scaled.after(5 * 60) == 4
    scaled.variant.per_minute = 0.0
    assert scaled.after(40 * 60) == 4
    assert scaled.after(30 * 60) == 1


def test_scale_in_waits_for_every_policy_but_those_whose_scale_in_is_disabled(scaled: FakeVariantScaling) -> None:
    scaled.variant.wanted = scaled.variant.ready = 3
    scaled.register()
    scaled.track("invocations", DisableScaleIn=True)
    scaled.track("cpu", PredefinedMetricSpecification=None, CustomizedMetricSpecification=CPU)
    assert scaled.after(30 * 60) == 3  # there is no data about the processors
    busy(scaled, minutes=20, percent=10.0)
    assert scaled.variant.wanted == 1


def test_a_customized_metric_is_read_from_cloudwatch(scaled: FakeVariantScaling) -> None:
    scaled.register()
    answer = scaled.track(PredefinedMetricSpecification=None, CustomizedMetricSpecification=CPU, TargetValue=50.0)
    [high, _] = scaled.cloudwatch.describe_alarms(AlarmNamePrefix="TargetTracking-")["MetricAlarms"]
    assert (high["MetricName"], high["Period"], high["AlarmActions"]) == ("CPUUtilization", 60, [answer])
    busy(scaled, minutes=5, percent=95.0)
    assert scaled.variant.wanted == 2


def test_metric_math_is_evaluated(scaled: FakeVariantScaling) -> None:
    scaled.register()
    stat = {"Metric": {name: CPU[name] for name in ("MetricName", "Namespace", "Dimensions")}, "Stat": "Average"}
    queries = [{"Id": "m", "MetricStat": stat, "ReturnData": False}, {"Id": "e", "Expression": "m / 2"}]
    scaled.track(PredefinedMetricSpecification=None, CustomizedMetricSpecification={"Metrics": queries})
    busy(scaled, minutes=6, percent=119.0)
    assert scaled.variant.wanted == 1
    busy(scaled, minutes=6, percent=200.0)
    assert scaled.variant.wanted == 2


def busy(autoscaling: FakeVariantScaling, minutes: int, percent: float) -> None:
    """The processors are so busy for so long."""
    cpu = autoscaling.variant.registry.at(
        key_of(CPU["Namespace"], CPU["MetricName"], [("EndpointName", "ep")], "Percent")
    )
    for _ in range(minutes):
        cpu.add(percent, autoscaling.variant.now_s)
        autoscaling.after(60)


def test_the_high_resolution_metric_scales_out_after_half_a_minute(scaled: FakeVariantScaling) -> None:
    scaled.register()
    metric = {"PredefinedMetricType": "SageMakerVariantConcurrentRequestsPerModelHighResolution"}
    scaled.track(PredefinedMetricSpecification=metric, TargetValue=5.0)
    scaled.variant.in_flight = 12
    assert scaled.after(90) == 1
    assert scaled.after(10) == 3


def test_provisioned_concurrency_follows_its_use(scaled: FakeVariantScaling) -> None:
    scaled.variant.provisioned, scaled.variant.in_flight = 2, 9
    scaled.register(ScalableDimension=CONCURRENCY)
    metric = {"PredefinedMetricType": "SageMakerVariantProvisionedConcurrencyUtilization"}
    scaled.scaling.put_scaling_policy(
        **{**OF, "ScalableDimension": CONCURRENCY},
        PolicyName="use",
        PolicyType="TargetTrackingScaling",
        TargetTrackingScalingPolicyConfiguration={"TargetValue": 0.7, "PredefinedMetricSpecification": metric},
    )
    scaled.after(6 * 60)
    assert scaled.variant.provisioned == 3
    assert scaled.activities()[0]["Description"] == "Setting desired provisioned concurrency to 3."


def test_suspended_scaling_happens_only_after_it_is_resumed(scaled: FakeVariantScaling) -> None:
    scaled.register(SuspendedState={"DynamicScalingOutSuspended": True})
    scaled.track()
    scaled.variant.per_minute = 100.0
    assert scaled.after(10 * 60) == 1
    scaled.scaling.register_scalable_target(**OF, SuspendedState={"DynamicScalingOutSuspended": False})
    assert scaled.after(60) == 2


def test_a_busy_endpoint_is_tried_again_as_the_same_activity(scaled: FakeVariantScaling) -> None:
    scaled.register()
    scaled.track()
    scaled.variant.per_minute = 100.0
    scaled.variant.faults = [Busy("The endpoint is being updated.")] * 100
    assert scaled.after(6 * 60) == 1
    [activity] = scaled.activities()
    assert activity["StatusCode"] == "Pending"
    scaled.variant.faults.clear()
    assert scaled.after(60) == 2
    assert [(one["ActivityId"], one["StatusCode"]) for one in scaled.activities()] == [
        (activity["ActivityId"], "Successful")
    ]


def test_a_newer_desired_capacity_overrides_a_waiting_one(scaled: FakeVariantScaling) -> None:
    scaled.register()
    scaled.track()
    scaled.variant.per_minute = 100.0
    scaled.variant.faults = [Busy("The endpoint is being updated.")] * 36
    scaled.after(6 * 60)
    scaled.variant.per_minute = 150.0
    scaled.after(8 * 60)
    newest, older = scaled.activities()
    assert (newest["Description"], newest["StatusCode"]) == ("Setting desired instance count to 3.", "Successful")
    assert (older["Description"], older["StatusCode"]) == ("Setting desired instance count to 2.", "Overridden")


def test_a_refused_change_is_recorded_with_its_reason_and_retried_a_minute_later(
    scaled: FakeVariantScaling,
) -> None:
    scaled.register()
    scaled.track()
    scaled.variant.per_minute = 100.0
    scaled.variant.faults = [NotApplied("The account-level service limit is 1 Instances.")]
    assert scaled.after(5 * 60) == 1
    [activity] = scaled.activities()
    assert activity["StatusCode"] == "Failed"
    assert activity["StatusMessage"] == (
        "Failed to set desired instance count to 2. Reason: The account-level service limit is 1 Instances."
    )
    assert scaled.after(70) == 2


def test_a_change_under_way_is_in_progress_and_nothing_else_is_begun(scaled: FakeVariantScaling) -> None:
    scaled.register()
    scaled.track()
    scaled.variant.per_minute = 200.0
    scaled.variant.let_go.clear()
    scaled.after(10 * 60)
    [activity] = scaled.activities()
    assert activity["StatusCode"] == "InProgress"
    assert activity["StatusMessage"].endswith("Waiting for change to be fulfilled by sagemaker.")
    scaled.variant.let_go.set()
    assert scaled.after(10) == 4
    assert scaled.activities()[0]["StatusCode"] == "Successful"


@pytest.mark.parametrize("how", ["policy", "target", "other type"])
def test_the_alarms_go_with_their_policy(scaled: FakeVariantScaling, how: str) -> None:
    scaled.register()
    scaled.track()
    assert len(scaled.states()) == 2
    if how == "policy":
        scaled.scaling.delete_scaling_policy(**OF, PolicyName="track")
    elif how == "target":
        scaled.scaling.deregister_scalable_target(**OF)
    else:
        scaled.step("track")
    assert scaled.states() == {}


def test_a_policy_that_is_changed_keeps_its_alarms_with_new_thresholds(scaled: FakeVariantScaling) -> None:
    scaled.register()
    scaled.track()
    scaled.track(TargetValue=100.0)
    alarms = scaled.cloudwatch.describe_alarms(AlarmNamePrefix="TargetTracking-")["MetricAlarms"]
    assert [alarm["Threshold"] for alarm in alarms] == [100.0, 90.0]
    [policy] = scaled.scaling.describe_scaling_policies(ServiceNamespace="sagemaker")["ScalingPolicies"]
    assert [alarm["AlarmARN"] for alarm in policy["Alarms"]] == [alarm["AlarmArn"] for alarm in alarms]


def test_a_variant_that_does_not_serve_is_left_alone(scaled: FakeVariantScaling) -> None:
    scaled.register(MinCapacity=2)
    scaled.variant.serving = False
    assert scaled.after(60) == 1
    scaled.variant.serving = True
    assert scaled.after(10) == 2


class InterruptedAlarms(Alarms):
    """The change that is under way ends while an alarm enters a state; another would not."""

    def __init__(self, variant: FakeVariantScaler) -> None:
        super().__init__(variant.database, variant.context.alarms.tags, variant.clock, left_to_the_policy)
        self._site = variant
        self.entered = 0

    async def enter(self, name: str, standing: Standing) -> None:
        self._site.let_go.set()
        for _ in range(10):
            await asyncio.sleep(0)
        self._site.let_go.clear()
        self.entered += 1
        await super().enter(name, standing)


def test_a_change_that_ends_while_an_alarm_is_entered_is_made_once() -> None:
    scaled = FakeVariantScaling()
    variant = scaled.variant
    scaled.register()
    scaled.track()
    interrupted = InterruptedAlarms(variant)

    async def story() -> None:
        variant.per_minute = 150.0
        variant.let_go.clear()
        await variant.pass_s(600)
        assert variant.wanted == 1
        variant.context.alarms = interrupted
        variant.per_minute = 0.0
        await variant.pass_s(300)

    scaled.runner.run(story())
    assert interrupted.entered
    assert {activity.status for activity in variant.context.activities.all()} == {"Successful"}
    scaled.close()
