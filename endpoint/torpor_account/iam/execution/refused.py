"""The refusal of a role that SageMaker cannot assume. It imports nothing: an endpoint without `--auth` has it too."""

ROLE_INVALID = (
    'The execution role ARN "{role}" is invalid. Please ensure that the role exists and that its trust relationship '
    'policy allows the action "sts:AssumeRole" for the service principal "sagemaker.amazonaws.com".'
)
"""AWS's FailureReason of an endpoint."""


class RoleRefused(ValueError):
    """SageMaker may not assume the role, or there is no such role. The text is AWS's FailureReason of an endpoint."""

    def __init__(self, role: str) -> None:
        super().__init__(ROLE_INVALID.format(role=role))
        self.role = role
