"""Reads a DeploymentConfig into a RolloutPolicy. `deployment_rules` checks it."""

from torpor_endpoint.core.rollouts.rollout_policy import CapacitySize, RolloutPolicy, SizeType, Strategy
from torpor_endpoint.services.sagemaker.rules import Wire

SIZE_MEMBERS = {Strategy.CANARY: "CanarySize", Strategy.LINEAR: "LinearStepSize"}


def alarm_names(config: Wire) -> tuple[str, ...]:
    """The names of the alarms of its AutoRollbackConfiguration."""
    alarms = config.get("AutoRollbackConfiguration", {}).get("Alarms", ())
    return tuple(alarm["AlarmName"] for alarm in alarms if "AlarmName" in alarm)


def rollout_policy(config: Wire) -> RolloutPolicy:
    """The policy of a DeploymentConfig that `deployment_rules` has taken."""
    if "RollingUpdatePolicy" in config:
        return _rolling(config["RollingUpdatePolicy"], alarm_names(config))
    policy = config.get("BlueGreenUpdatePolicy", {})
    routing = policy.get("TrafficRoutingConfiguration", {})
    strategy = Strategy(routing.get("Type", Strategy.ALL_AT_ONCE))
    return RolloutPolicy(
        strategy=strategy,
        step_size=_size(routing[SIZE_MEMBERS[strategy]]) if strategy in SIZE_MEMBERS else RolloutPolicy.step_size,
        wait_s=float(routing.get("WaitIntervalInSeconds", 0)),
        termination_wait_s=float(policy.get("TerminationWaitInSeconds", 0)),
        execution_timeout_s=_timeout_s(policy),
        alarms=alarm_names(config),
    )


def _rolling(policy: Wire, alarms: tuple[str, ...]) -> RolloutPolicy:
    back = policy.get("RollbackMaximumBatchSize")
    return RolloutPolicy(
        strategy=Strategy.ROLLING,
        step_size=_size(policy["MaximumBatchSize"]),
        wait_s=float(policy["WaitIntervalInSeconds"]),
        execution_timeout_s=_timeout_s(policy),
        rollback_size=_size(back) if back else RolloutPolicy.rollback_size,
        alarms=alarms,
    )


def _size(sent: Wire) -> CapacitySize:
    return CapacitySize(SizeType(sent["Type"]), int(sent["Value"]))


def _timeout_s(policy: Wire) -> float | None:
    timeout = policy.get("MaximumExecutionTimeoutInSeconds")
    return None if timeout is None else float(timeout)
