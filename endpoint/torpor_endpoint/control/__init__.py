"""SageMaker's control plane: the records of models, endpoint configs, endpoints and tags behind AWS's operations."""

from torpor_endpoint.control.context import Control, Observed
from torpor_endpoint.control.operations import OPERATIONS, sagemaker_service

__all__ = ["OPERATIONS", "Control", "Observed", "sagemaker_service"]
