"""The rules for the DeploymentConfig of UpdateInferenceComponent: a rolling update of its copies, batch by batch."""

from math import ceil

from torpor_endpoint.core.rollouts.rollout import Rollout
from torpor_endpoint.core.rollouts.rollout_policy import SizeType
from torpor_endpoint.services.sagemaker.deployments.policy_reading import rollout_policy
from torpor_endpoint.services.sagemaker.rules import Rules, Wire, check

BATCH_PERCENT = range(5, 51)
"""AWS: "The value must be between 5% to 50% of the copy count of the inference component." """

SIZES = ("MaximumBatchSize", "RollbackMaximumBatchSize")
SIZE_TYPES = {"COPY_COUNT": SizeType.INSTANCE_COUNT, "CAPACITY_PERCENT": SizeType.CAPACITY_PERCENT}

Rolling = tuple[Wire, int, int]
"""A RollingUpdatePolicy, the copies that the component is to have, and those that it has."""

ROLLING_RULES: Rules[Rolling] = (
    (
        lambda pair: (
            _is_share(pair[0]["MaximumBatchSize"]) and pair[0]["MaximumBatchSize"]["Value"] not in BATCH_PERCENT
        ),
        "MaximumBatchSize must be from 5 to 50 with Type CAPACITY_PERCENT.",
    ),
    (
        lambda pair: (
            not _is_share(pair[0]["MaximumBatchSize"]) and pair[0]["MaximumBatchSize"]["Value"] > _half(pair[1])
        ),
        "MaximumBatchSize must not be more than half of the copies with Type COPY_COUNT: of {copies}, {half} at most.",
    ),
    (
        lambda pair: _is_share(_back(pair[0])) and _back(pair[0])["Value"] > 100,
        "RollbackMaximumBatchSize must not be more than 100 with Type CAPACITY_PERCENT.",
    ),
    (
        lambda pair: not _is_share(_back(pair[0])) and _back(pair[0])["Value"] > max(1, pair[2]),
        "RollbackMaximumBatchSize must not be more than the {present} present copies with Type COPY_COUNT.",
    ),
    (
        lambda pair: (
            pair[0].get("MaximumExecutionTimeoutInSeconds", float("inf"))
            < _batches(pair[0], pair[1]) * pair[0]["WaitIntervalInSeconds"]
        ),
        "MaximumExecutionTimeoutInSeconds must not be shorter than the waits: {batches} batches wait {wait} seconds "
        "each.",
    ),
)


def check_component_deployment(config: Wire, copies: int, present: int) -> None:
    """Raises ValidationException for batches that such a component cannot have. A rollback is of the present copies."""
    policy = config["RollingUpdatePolicy"]
    check(
        ROLLING_RULES,
        (policy, copies, present),
        copies=copies,
        present=present,
        half=_half(copies),
        batches=_batches(policy, copies),
        wait=policy["WaitIntervalInSeconds"],
    )


def component_rollout(config: Wire) -> Rollout:
    """The update by batches that a checked DeploymentConfig asks for, before its begin."""
    rolling: Wire = config["RollingUpdatePolicy"]
    sizes = {name: {**rolling[name], "Type": SIZE_TYPES[rolling[name]["Type"]]} for name in SIZES if name in rolling}
    return Rollout(rollout_policy({**config, "RollingUpdatePolicy": {**rolling, **sizes}}))


def batch_copies(size: Wire, copies: int) -> int:
    """The copies of one batch: at least one."""
    wanted = ceil(copies * size["Value"] / 100) if _is_share(size) else int(size["Value"])
    return max(1, min(wanted, copies))


def _batches(policy: Wire, copies: int) -> int:
    return ceil(copies / batch_copies(policy["MaximumBatchSize"], copies))


def _back(policy: Wire) -> Wire:
    size: Wire = policy.get("RollbackMaximumBatchSize", {"Type": "CAPACITY_PERCENT", "Value": 100})
    return size


def _is_share(size: Wire) -> bool:
    return bool(size["Type"] == "CAPACITY_PERCENT")


def _half(copies: int) -> int:
    """A component of one copy has batches of one."""
    return max(1, copies // 2)
