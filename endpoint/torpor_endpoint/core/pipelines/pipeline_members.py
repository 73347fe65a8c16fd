"""The members of a definition's objects and their types, as they stand in its JSON.

Limits of retry policies: https://docs.aws.amazon.com/sagemaker/latest/dg/pipelines-retry-policy.html
"""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict


class GivenPropertyFile(TypedDict):
    """A file of JSON that a processing step writes to one of its outputs."""

    PropertyFileName: str
    OutputName: str
    FilePath: str


class GivenRetryPolicy(TypedDict):
    """When a failed step is tried again. `IntervalSeconds` grows by `BackoffRate` from try to try."""

    ExceptionType: list[str]
    IntervalSeconds: NotRequired[int]
    BackoffRate: NotRequired[float]
    MaxAttempts: NotRequired[int]
    ExpireAfterMin: NotRequired[int]


class GivenStep(TypedDict):
    """One step. What `Arguments` may have, its operation says."""

    Name: str
    Type: str
    Arguments: Mapping[str, Any]
    DependsOn: NotRequired[list[str]]
    DisplayName: NotRequired[str | None]
    Description: NotRequired[str | None]
    PropertyFiles: NotRequired[list[GivenPropertyFile]]
    RetryPolicies: NotRequired[list[GivenRetryPolicy]]
    CacheConfig: NotRequired[Mapping[str, Any]]


class GivenBranches(TypedDict, total=False):
    """The arguments of a Condition step."""

    Conditions: list[Any]
    IfSteps: list[Any] | None
    ElseSteps: list[Any] | None


class GivenParameter(TypedDict):
    """One parameter. An execution must be given one without `DefaultValue`."""

    Name: str
    Type: str
    DefaultValue: NotRequired[Any]
    EnumValues: NotRequired[list[str | int | float | bool]]


class GivenDefinition(TypedDict):
    """The whole."""

    Version: str
    Steps: list[Any]
    Metadata: NotRequired[Any]
    Parameters: NotRequired[list[Any] | None]
    PipelineExperimentConfig: NotRequired[Any]
