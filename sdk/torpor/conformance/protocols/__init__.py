"""The rules of protocols beside SageMaker's contract, which any server of them must keep: Torpor's own, or another."""

from types import ModuleType

from torpor.conformance.container import UseCase
from torpor.conformance.protocols import (
    tfs_models,
    tfs_predictions,
    v2_binary_tensors,
    v2_inference,
    v2_models,
    v2_repository_rules,
)
from torpor.conformance.rule import Rule

PROTOCOLS = {UseCase.V2: "the Open Inference Protocol, V2, over REST", UseCase.TFS: "TensorFlow Serving's REST API"}
PROTOCOL_MODULES: tuple[ModuleType, ...] = (
    v2_models,
    v2_inference,
    v2_binary_tensors,
    v2_repository_rules,
    tfs_models,
    tfs_predictions,
)
PROTOCOL_RULES: tuple[Rule, ...] = tuple(
    one for module in PROTOCOL_MODULES for one in vars(module).values() if isinstance(one, Rule)
)
