"""The rules, one module for each part of the contract. A module's rules run in the order in which they stand."""

from torpor.conformance.rule import Rule
from torpor.conformance.rules import (
    bad_requests,
    batch,
    connecting,
    invoking,
    listing_models,
    loading,
    passing_headers,
    pinging,
    pipelines,
    starting,
    stopping,
    streaming_answers,
    unloading,
)

MODULES = (
    starting,
    pinging,
    loading,
    listing_models,
    invoking,
    passing_headers,
    connecting,
    bad_requests,
    unloading,
    streaming_answers,
    pipelines,
    batch,
    stopping,
)
"""In the order in which SageMaker comes to need them: what is broken first is to be mended first."""

RULES: tuple[Rule, ...] = tuple(one for module in MODULES for one in vars(module).values() if isinstance(one, Rule))
BY_ID = {rule.id: rule for rule in RULES}
