"""The rules, one module for each part of the contract. A module's rules run in the order in which they stand."""

from torpor.conformance.rule import Rule
from torpor.conformance.rules import (
    bad_requests,
    batch,
    connections,
    headers,
    invoking,
    listing,
    loading,
    pinging,
    pipelines,
    starting,
    stopping,
    streaming,
    unloading,
)

MODULES = (
    starting,
    pinging,
    loading,
    listing,
    invoking,
    headers,
    connections,
    bad_requests,
    unloading,
    streaming,
    pipelines,
    batch,
    stopping,
)
"""In the order in which SageMaker comes to need them: what is broken first is to be mended first."""

RULES: tuple[Rule, ...] = tuple(one for module in MODULES for one in vars(module).values() if isinstance(one, Rule))
BY_ID = {rule.id: rule for rule in RULES}
