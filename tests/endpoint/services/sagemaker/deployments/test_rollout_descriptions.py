"""DescribeEndpoint during a rollout: the pending deployment, the statuses of both fleets step by step, and its end."""

from dataclasses import replace
from typing import Any

import pytest

from tests.endpoint.services.helpers.in_memory_control_plane import InMemoryControlPlane, production
from torpor_account.aws.service_models import service_model
from torpor_account.aws.validation import violations
from torpor_endpoint.core.resource_records import EndpointRecord, EndpointStatus
from torpor_endpoint.core.rollouts.rollout import FleetSizes, Rollout, RolloutPhase
from torpor_endpoint.core.rollouts.rollout_policy import CapacitySize, RolloutPolicy, SizeType, Strategy

ANSWER = service_model("sagemaker").operation_model("DescribeEndpoint").output_shape
CANARY = {
    "BlueGreenUpdatePolicy": {
        "TrafficRoutingConfiguration": {
            "Type": "CANARY",
            "CanarySize": {"Type": "INSTANCE_COUNT", "Value": 1},
            "WaitIntervalInSeconds": 600,
        },
        "TerminationWaitInSeconds": 300,
        "MaximumExecutionTimeoutInSeconds": 3600,
    },
    "AutoRollbackConfiguration": {"Alarms": [{"AlarmName": "errors"}]},
}
POLICY = RolloutPolicy(
    strategy=Strategy.CANARY,
    step_size=CapacitySize(SizeType.INSTANCE_COUNT, 1),
    wait_s=600,
    termination_wait_s=300,
    execution_timeout_s=3600,
    alarms=("errors",),
)
PLACE = "VariantStatus"


@pytest.fixture
def updating(control_plane: InMemoryControlPlane) -> InMemoryControlPlane:
    """An endpoint of four instances, from "ep" to "new"."""
    control_plane.create(InitialInstanceCount=4)
    control_plane.settle("ep")
    control_plane.configure("new", production(InitialInstanceCount=4))
    control_plane.alarms.add("errors")
    control_plane.ready = {"AllTraffic": 4}
    control_plane("UpdateEndpoint", EndpointName="ep", EndpointConfigName="new", DeploymentConfig=CANARY)
    return control_plane


def stored(plane: InMemoryControlPlane) -> EndpointRecord:
    endpoint = plane.store.endpoint("ep")
    assert endpoint is not None
    return endpoint


def shown(plane: InMemoryControlPlane, phase: RolloutPhase, *, step: int, since_s: float = 1300.0) -> dict[str, Any]:
    """DescribeEndpoint's answer in a phase, which AWS's model allows."""
    before = stored(plane)
    going_back = phase in (RolloutPhase.RETURNING, RolloutPhase.REMOVING)
    status = EndpointStatus.ROLLING_BACK if going_back else EndpointStatus.UPDATING
    rollout = Rollout(POLICY, phase, (FleetSizes("AllTraffic", 4, 4),), step, step, started_s=1200, since_s=since_s)
    moved = replace(before, status=status, rollout=replace(rollout, back=int(going_back), reason="an alarm"))
    assert plane.store.replace_endpoint(moved, expected_status=before.status)
    answer = plane.describe()
    assert answer["EndpointStatus"] == status
    assert ANSWER is not None
    pruned = {name: value for name, value in answer.items() if value not in (None, [], {})}
    assert list(violations(_pruned(pruned), ANSWER)) == []
    return answer


def _pruned(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _pruned(item) for name, item in value.items() if item not in (None, [], {})}
    return [_pruned(item) for item in value] if isinstance(value, list) else value


def of_fleets(answer: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The messages of the old and of the new fleet's variant, each after its status."""
    (old,), (new,) = answer["ProductionVariants"], answer["PendingDeploymentSummary"]["ProductionVariants"]
    return tuple(  # type: ignore[return-value]
        [f"{one['Status']}: {one['StatusMessage']}" for one in variant[PLACE]] for variant in (old, new)
    )


def test_an_update_stores_the_policy_of_its_deployment_config(updating: InMemoryControlPlane) -> None:
    rollout = stored(updating).rollout
    assert rollout == Rollout(POLICY)
    assert of_fleets(updating.describe()) == ([], [])


def test_the_pending_deployment_has_the_counts_of_the_new_fleet(updating: InMemoryControlPlane) -> None:
    updating.green = {"AllTraffic": 3}
    answer = shown(updating, RolloutPhase.CREATING, step=1)
    pending = answer["PendingDeploymentSummary"]
    (new,) = pending["ProductionVariants"]
    assert (pending["EndpointConfigName"], pending["StartTime"]) == ("new", 1200)
    assert (new["CurrentInstanceCount"], new["DesiredInstanceCount"], new["CurrentWeight"]) == (3, 4, 1.0)
    assert answer["ProductionVariants"][0]["CurrentInstanceCount"] == 4
    assert answer["EndpointConfigName"] == "ep"
    assert answer["LastDeploymentConfig"] == CANARY
    assert new[PLACE] == [{"Status": "Creating", "StatusMessage": "Launching 4 instance(s).", "StartTime": 1300.0}]


ACTIVATING = "ActivatingTraffic: Activating traffic on {} capacity of {} instance(s)."
BAKING = "Baking: Baking for {} seconds ({}) with traffic enabled on {} capacity of {} instance(s)."


@pytest.mark.parametrize(
    ("phase", "step", "old", "new"),
    [
        (
            RolloutPhase.ACTIVATING,
            1,
            [],
            [ACTIVATING.format("canary", 1)],
        ),
        (RolloutPhase.BAKING, 1, [], [BAKING.format(600, "WaitIntervalInSeconds", "canary", 1)]),
        (RolloutPhase.ACTIVATING, 2, [], [ACTIVATING.format("full", 4)]),
        (RolloutPhase.BAKING, 2, [], [BAKING.format(300, "TerminationWaitInSeconds", "full", 4)]),
        (RolloutPhase.DELETING, 2, ["Deleting: Terminating 4 instance(s)."], []),
        (RolloutPhase.RETURNING, 1, [ACTIVATING.format("full", 4)], []),
        (RolloutPhase.REMOVING, 1, [], ["Deleting: Terminating 4 instance(s)."]),
    ],
)
def test_each_phase_is_a_status_of_the_fleet_that_it_changes(
    updating: InMemoryControlPlane, phase: RolloutPhase, step: int, old: list[str], new: list[str]
) -> None:
    assert of_fleets(shown(updating, phase, step=step)) == (old, new)


def test_an_update_to_the_same_configuration_by_a_rollout_is_pending_too(control_plane: InMemoryControlPlane) -> None:
    control_plane.create()
    control_plane.settle("ep")
    control_plane("UpdateEndpoint", EndpointName="ep", EndpointConfigName="ep", DeploymentConfig={})
    assert control_plane.describe()["PendingDeploymentSummary"]["EndpointConfigName"] == "ep"


def test_capacities_change_without_a_rollout(control_plane: InMemoryControlPlane) -> None:
    control_plane.create()
    control_plane.settle("ep")
    desired = [{"VariantName": "AllTraffic", "DesiredInstanceCount": 2}]
    control_plane("UpdateEndpointWeightsAndCapacities", EndpointName="ep", DesiredWeightsAndCapacities=desired)
    assert stored(control_plane).rollout is None
    assert control_plane.describe()["ProductionVariants"][0][PLACE][0]["Status"] == "Updating"


def test_an_endpoint_in_a_rollout_is_neither_deleted_nor_updated(updating: InMemoryControlPlane) -> None:
    shown(updating, RolloutPhase.BAKING, step=1)
    for operation, more in (("DeleteEndpoint", {}), ("UpdateEndpoint", {"EndpointConfigName": "new"})):
        assert updating.refusal(operation, EndpointName="ep", **more)[2].startswith(
            "Cannot update in-progress endpoint"
        )


def test_a_deletion_between_two_configurations_ends_the_deployment(updating: InMemoryControlPlane) -> None:
    before = stored(updating)
    rollout = Rollout(POLICY, RolloutPhase.STUCK, (FleetSizes("AllTraffic", 4, 4),), 1, 1, started_s=1200)
    stuck = replace(before, status=EndpointStatus.UPDATE_ROLLBACK_FAILED, rollout=rollout)
    assert updating.store.replace_endpoint(stuck, expected_status=before.status)
    assert updating.describe()["PendingDeploymentSummary"] is not None
    updating("DeleteEndpoint", EndpointName="ep")
    answer = updating.describe()
    assert answer["PendingDeploymentSummary"] is None
    assert [one["Status"] for one in answer["ProductionVariants"][0][PLACE]] == ["Deleting"]
