"""The rules for a DeploymentConfig that AWS's service model cannot express.

Sources: the API reference of DeploymentConfig's structures, and "Deployment guardrails" with its "Exclusions" in the
SageMaker guide. AWS publishes no texts of its refusals: the messages are Torpor's own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from torpor_endpoint.core.resource_records import Variant
from torpor_endpoint.core.rollouts.rollout_policy import RolloutPolicy, SizeType
from torpor_endpoint.services.sagemaker import errors
from torpor_endpoint.services.sagemaker.deployments.policy_reading import alarm_names, rollout_policy
from torpor_endpoint.services.sagemaker.rules import Rules, Wire, check


def policy_of(config: Wire) -> Wire:
    """The update policy of a DeploymentConfig: blue/green or rolling; empty if it has none."""
    policy: Wire = config.get("RollingUpdatePolicy") or config.get("BlueGreenUpdatePolicy") or {}
    return policy


def routing_of(config: Wire) -> Wire:
    """The TrafficRoutingConfiguration; empty for a rolling deployment."""
    routing: Wire = config.get("BlueGreenUpdatePolicy", {}).get("TrafficRoutingConfiguration", {})
    return routing


# -- a DeploymentConfig alone ------------------------------------------------------------------------------------------
def _named(config: Wire) -> bool:
    return len(alarm_names(config)) == len(config.get("AutoRollbackConfiguration", {}).get("Alarms", ()))


CONFIG_RULES: Rules[Wire] = (
    # "Only one update policy should be used in the deployment configuration."
    (
        lambda config: "BlueGreenUpdatePolicy" in config and "RollingUpdatePolicy" in config,
        "DeploymentConfig has both BlueGreenUpdatePolicy and RollingUpdatePolicy: only one update policy can be used.",
    ),
    (
        lambda config: routing_of(config).get("Type") == "CANARY" and "CanarySize" not in routing_of(config),
        "TrafficRoutingConfiguration of Type CANARY needs CanarySize.",
    ),
    (
        lambda config: routing_of(config).get("Type") == "LINEAR" and "LinearStepSize" not in routing_of(config),
        "TrafficRoutingConfiguration of Type LINEAR needs LinearStepSize.",
    ),
    (
        lambda config: "CanarySize" in routing_of(config) and routing_of(config).get("Type") != "CANARY",
        "CanarySize belongs to a TrafficRoutingConfiguration of Type CANARY: change the Type, or leave it out.",
    ),
    (
        lambda config: "LinearStepSize" in routing_of(config) and routing_of(config).get("Type") != "LINEAR",
        "LinearStepSize belongs to a TrafficRoutingConfiguration of Type LINEAR: change the Type, or leave it out.",
    ),
    (lambda config: not _named(config), "Each of the Alarms of AutoRollbackConfiguration needs an AlarmName."),
    (
        lambda config: len(set(alarm_names(config))) < len(alarm_names(config)),
        "An AlarmName is given more than once in AutoRollbackConfiguration.",
    ),
)


# -- sizes -------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class SizeRange:
    """The shares of a fleet's capacity that one kind of size may have, in percent."""

    member: str
    least: int
    most: int

    @property
    def said(self) -> str:
        return f"at most {self.most} %" if self.least <= 1 else f"{self.least} to {self.most} %"


# "Value must be less than or equal to 50% of the variant's total instance count", "10-50%", "between 5% to 50%". A
# rollback may take the whole fleet at once: that is its default.
SIZES: Final = (
    SizeRange("CanarySize", 1, 50),
    SizeRange("LinearStepSize", 10, 50),
    SizeRange("MaximumBatchSize", 5, 50),
    SizeRange("RollbackMaximumBatchSize", 1, 100),
)

OF_OLD_FLEET: Final = "RollbackMaximumBatchSize"

OUT_OF_RANGE = "{member} must be {said} of the capacity of a production variant, and is {percent} %."
COUNT_OUT_OF_RANGE = (
    "{member} must be {said} of the instances of a production variant: {count} instance(s) are not, of the {of} of "
    'production variant "{variant}". Give the variant more instances, or give the size as CAPACITY_PERCENT.'
)
COUNT_OF_NONE = (
    '{member} counts instances, and production variant "{variant}" has none: give the size as CAPACITY_PERCENT.'
)
COUNT_OF_SERVERLESS = (
    '{member} counts instances, and production variant "{variant}" is serverless: give the size as CAPACITY_PERCENT.'
)


def sizes_of(config: Wire) -> list[tuple[SizeRange, Wire]]:
    """The sizes of a DeploymentConfig, each with its range."""
    found = {**policy_of(config), **routing_of(config)}
    return [(size, found[size.member]) for size in SIZES if size.member in found]


def _check_sizes(config: Wire, before: Sequence[Variant], after: Sequence[Variant]) -> None:
    """A rollback brings instances of the old fleet back; every other size is of the new one."""
    for size, sent in sizes_of(config):
        value, variants = sent["Value"], before if size.member == OF_OLD_FLEET else after
        if sent["Type"] == SizeType.CAPACITY_PERCENT and not size.least <= value <= size.most:
            raise errors.INVALID(OUT_OF_RANGE.format(member=size.member, said=size.said, percent=value))
        for variant in variants if sent["Type"] == SizeType.INSTANCE_COUNT else ():
            if variant.serverless is not None:
                raise errors.INVALID(COUNT_OF_SERVERLESS.format(member=size.member, variant=variant.name))
            if not variant.instance_count:
                raise errors.INVALID(COUNT_OF_NONE.format(member=size.member, variant=variant.name))
            if not _in_range(size, value, variant.instance_count):
                says = {"member": size.member, "said": size.said, "count": value}
                raise errors.INVALID(COUNT_OUT_OF_RANGE.format(**says, of=variant.instance_count, variant=variant.name))


def _in_range(size: SizeRange, count: int, of: int) -> bool:
    return size.least <= Fraction(100 * count, of) <= size.most


# -- times -------------------------------------------------------------------------------------------------------------
TOO_SHORT = (
    "MaximumExecutionTimeoutInSeconds is {limit:g} and must be larger than all waits of the deployment, which take "
    "{waits:g} seconds in its {steps} step(s)."
)


def _check_times(policy: RolloutPolicy, variants: Sequence[Variant]) -> None:
    """ "The timeout value should be larger than the total waiting time specified in TerminationWaitInSeconds and
    WaitIntervalInSeconds." """
    steps = policy.steps(variant.instance_count for variant in variants)
    waits_s = sum(policy.wait_after(step, steps) for step in range(1, steps + 1))
    timeout_s = policy.execution_timeout_s
    if timeout_s is not None and timeout_s <= waits_s:
        raise errors.INVALID(TOO_SHORT.format(limit=timeout_s, waits=waits_s, steps=steps))


# -- the endpoint ------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Deploying:
    """An update by a DeploymentConfig: its production variants, and the names of its shadow variants."""

    config: Wire
    before: tuple[Variant, ...]
    after: tuple[Variant, ...]
    shadows_before: frozenset[str]
    shadows_after: frozenset[str]

    @property
    def rolling(self) -> bool:
        return "RollingUpdatePolicy" in self.config

    @property
    def serverless(self) -> bool:
        return any(variant.serverless is not None for variant in (*self.before, *self.after))


ENDPOINT_RULES: Rules[Deploying] = (
    (
        lambda one: any(variant.for_components for variant in (*one.before, *one.after)),
        "DeploymentConfig is not supported for endpoints of inference components: leave it out, and give it to "
        "UpdateInferenceComponent, which replaces the copies of a component step by step.",
    ),
    # "your new endpoint configuration must have the same variant name as the old endpoint configuration"
    (
        lambda one: {variant.name for variant in one.before} != {variant.name for variant in one.after},
        "A deployment with DeploymentConfig needs production variants of the same names: the endpoint has {before}, "
        "and the new endpoint configuration {after}.",
    ),
    (
        lambda one: one.shadows_before != one.shadows_after,
        "A deployment with DeploymentConfig neither brings nor removes shadow variants: leave out DeploymentConfig, or "
        "update in two steps.",
    ),
    # "If you're doing a rolling deployment, there are additional feature-based exclusions: serverless inference
    # endpoints, multi-variant inference endpoints."
    (
        lambda one: one.rolling and one.serverless,
        "RollingUpdatePolicy is not supported for serverless endpoints: use BlueGreenUpdatePolicy.",
    ),
    (
        lambda one: one.rolling and max(len(one.before), len(one.after)) > 1,
        "RollingUpdatePolicy is not supported for endpoints with several production variants: use "
        "BlueGreenUpdatePolicy.",
    ),
)

# "Deployment guardrails only apply to Asynchronous inference and Real-time inference endpoint types."
STRICT_RULES: Rules[Deploying] = (
    (
        lambda one: one.serverless,
        "DeploymentConfig is not supported for serverless endpoints: deployment guardrails are for asynchronous and "
        "real-time endpoints.",
    ),
)


def check_kept(config: Wire) -> None:
    """Raises ValidationException for a DeploymentConfig that no update could use. CreateEndpoint only keeps it."""
    check(CONFIG_RULES, config)
    _check_sizes(config, (), ())
    _check_times(rollout_policy(config), ())


def check_deployment(config: Wire, before: Sequence[Variant], after: Sequence[Variant], *, strict: bool) -> None:
    """Raises ValidationException for a DeploymentConfig that contradicts itself, or that these variants exclude."""
    check(CONFIG_RULES, config)
    deploying = Deploying(config, _production(before), _production(after), _shadows(before), _shadows(after))
    names = {"before": _names(deploying.before), "after": _names(deploying.after)}
    check(ENDPOINT_RULES, deploying, **names)
    if strict:
        check(STRICT_RULES, deploying)
    _check_sizes(config, deploying.before, deploying.after)
    _check_times(rollout_policy(config), deploying.after)


def check_alarms(config: Wire, has_alarm: Callable[[str], bool]) -> None:
    """Raises ValidationException for alarms that do not exist. `has_alarm` knows those that do, by their names."""
    missing = [name for name in alarm_names(config) if not has_alarm(name)]
    if missing:
        named = ", ".join(f'"{name}"' for name in missing)
        raise errors.INVALID(f"AutoRollbackConfiguration names alarms that do not exist in CloudWatch: {named}.")


def _production(variants: Sequence[Variant]) -> tuple[Variant, ...]:
    return tuple(variant for variant in variants if not variant.shadow)


def _shadows(variants: Sequence[Variant]) -> frozenset[str]:
    return frozenset(variant.name for variant in variants if variant.shadow)


def _names(variants: Sequence[Variant]) -> str:
    return ", ".join(f'"{variant.name}"' for variant in variants)
