"""Whether SageMaker may assume the role of a job, before the job is taken."""

from collections.abc import Callable

CheckRole = Callable[[str, str], None]
"""Raises ValidationException if SageMaker may not assume a role for a job: takes the ARNs of both."""


def any_role(role: str, job: str) -> None:
    """Let any role be: roles are names only."""
