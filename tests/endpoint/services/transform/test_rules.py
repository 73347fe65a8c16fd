"""What strict mode refuses beside what is always refused, and what a request means for its records."""

from dataclasses import replace
from typing import Any

import pytest

from torpor_endpoint.core.resource_records import Container, ModelRecord
from torpor_endpoint.services.sagemaker.rules import broken
from torpor_endpoint.services.transform.rules import (
    JOB_RULES,
    MODEL_RULES,
    STRICT_MODEL_RULES,
    accept_of,
    bad_filter,
    processing_of,
)

ONE = ModelRecord("one", "arn", 0.0, (Container("torpor", "s3://bucket/model.tar.gz"),), {})
MANY = replace(ONE, containers=(replace(ONE.containers[0], multi_model=True),))


def test_models_of_many_models_are_refused_in_strict_mode_alone() -> None:
    assert [broken(MODEL_RULES, model) for model in (ONE, MANY)] == [None, None]
    assert broken(STRICT_MODEL_RULES, ONE) is None
    assert broken(STRICT_MODEL_RULES, MANY) == "A transform job with a model of mode MultiModel is not supported."


def test_direct_models_are_refused_always() -> None:
    assert "Serial mode" in str(broken(MODEL_RULES, replace(ONE, direct=True)))


def job(kind: str = "text/csv", accept: str | None = None, **members: Any) -> dict[str, Any]:
    output = {"S3OutputPath": "s3://bucket/out", "AssembleWith": "Line"}
    return {
        "TransformInput": {
            "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://bucket/in"}},
            "ContentType": kind,
            "SplitType": "Line",
        },
        "TransformOutput": output if accept is None else {**output, "Accept": accept},
        "TransformResources": {"InstanceType": "ml.m5.large", "InstanceCount": 1},
        **members,
    }


@pytest.mark.parametrize(
    ("request_", "accept"),
    [
        (job(), None),
        (job(DataProcessing={"JoinSource": "None"}), None),
        (job(DataProcessing={"OutputFilter": "$[0]"}), "text/csv"),
        (job(Environment={"TORPOR_BATCH_MODEL": "$[0]"}), "text/csv"),
        (job("application/jsonlines", DataProcessing={"JoinSource": "Input"}), "application/jsonlines"),
        (job(accept="application/json"), "application/json"),
    ],
)
def test_records_are_answered_in_their_own_type(request_: dict[str, Any], accept: str | None) -> None:
    """A container that may choose answers in another one, and what it answers is then read as what it is not."""
    assert broken(JOB_RULES, request_) is None
    assert accept_of(request_) == accept


@pytest.mark.parametrize(
    "filters", [{}, {"InputFilter": "$", "OutputFilter": "$", "JoinSource": "None"}, {"InputFilter": ""}]
)
def test_a_processing_that_keeps_everything_fits_any_type(filters: dict[str, str]) -> None:
    asked = job("image/png", DataProcessing=filters)
    assert broken(JOB_RULES, asked) is None
    assert bad_filter(asked) is None
    assert processing_of(asked, lambda: ("", ""), multi_model=False) is None


def test_marked_records_need_a_type_that_the_container_was_asked_for() -> None:
    captured = {"DestinationS3Uri": "s3://bucket/captured", "GenerateInferenceId": True}
    assert "needs TransformOutput.Accept" in str(broken(JOB_RULES, job(DataCaptureConfig=captured)))
    assert broken(JOB_RULES, job(accept="text/csv", DataCaptureConfig=captured)) is None
