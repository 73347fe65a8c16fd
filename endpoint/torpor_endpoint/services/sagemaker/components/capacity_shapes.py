"""Turns a production variant without a model into a record. `capacity_rules` checks it."""

from torpor_endpoint.core.resource_records import ScaleIn, ScaleInStrategy, Variant
from torpor_endpoint.services.sagemaker.components.instance_pool_shapes import pools_of
from torpor_endpoint.services.sagemaker.rules import Wire
from torpor_endpoint.services.sagemaker.shapes import scaling_of

INSTANCES_MIN = 1
"""The fewest instances of a variant with ManagedInstanceScaling that names no minimum. AWS documents no default."""


def capacity_variant(production: Wire, role: str) -> Variant:
    """`role` is the ExecutionRoleArn of the endpoint configuration."""
    scaling = scaling_of(production)
    pools = pools_of(production)
    provision_s = production.get("VariantInstanceProvisionTimeoutInSeconds", Variant.provision_timeout_s)
    return Variant(
        name=production["VariantName"],
        model_name="",
        containers=(),
        weight=float(production.get("InitialVariantWeight", 1.0)),
        instance_type=pools[0].instance_type if pools else production["InstanceType"],
        instance_count=production["InitialInstanceCount"],
        instances_min=scaling.get("MinInstanceCount", INSTANCES_MIN) if scaling else None,
        instances_max=scaling.get("MaxInstanceCount"),
        request=dict(production),
        execution_role=role,
        pools=pools,
        provision_timeout_s=float(provision_s),
        scale_in=_scale_in(scaling["ScaleInPolicy"]) if "ScaleInPolicy" in scaling else None,
        managed=bool(scaling),
    )


def _scale_in(policy: Wire) -> ScaleIn:
    minutes = policy.get("CooldownInMinutes", ScaleIn.cooldown_s / 60)
    step = policy.get("MaximumStepSize", ScaleIn.step_max)
    return ScaleIn(ScaleInStrategy(policy["Strategy"]), step, float(minutes) * 60)
