"""SAGEMAKER_SUBMIT_DIRECTORY on a live endpoint: one script, from S3, for every model."""

import pytest

from tests.endpoint.helpers.live_endpoint import LiveEndpoint, NotInService, Variant, many, one
from tests.endpoint.helpers.model_artifacts import packed, put

SCRIPT = """
from pathlib import Path
from beside import GREETING
def model_fn(model_dir):
    return Path(model_dir, "name").read_text()
def transform_fn(model, body, content_type, accept):
    return f"{GREETING} {model}", "text/plain"
"""
CODE = packed({"serve.py": SCRIPT, "beside.py": "GREETING = 'hello'"})
WHERE = {"SAGEMAKER_PROGRAM": "serve.py", "SAGEMAKER_SUBMIT_DIRECTORY": "s3://submitted/code/sourcedir.tar.gz"}


@pytest.fixture(scope="module")
def bucket(live: LiveEndpoint) -> str:
    own_script = {"name": "bo", "code/serve.py": "raise RuntimeError('the code in S3 is meant')"}
    objects = {
        "code/sourcedir.tar.gz": CODE,
        "m/ann.tar.gz": packed({"name": "ann"}),
        "m/bo.tar.gz": packed(own_script),
    }
    put(live.folder("submitted"), objects)
    return "submitted"


def test_a_submitted_script_serves_every_artifact_instead_of_the_artifacts_own(live: LiveEndpoint, bucket: str) -> None:
    live.deploy("Submitted", Variant(many(f"{bucket}/m", WHERE)))
    answers = [live.invoke("Submitted", b"", TargetModel=f"{name}.tar.gz")["Body"] for name in ("ann", "bo")]
    assert answers == [b"hello ann", b"hello bo"]


def test_missing_code_fails_a_single_model_endpoint_with_the_reason(live: LiveEndpoint, bucket: str) -> None:
    nowhere = {**WHERE, "SAGEMAKER_SUBMIT_DIRECTORY": f"s3://{bucket}/code/gone.tar.gz"}
    with pytest.raises(NotInService, match=r"SAGEMAKER_SUBMIT_DIRECTORY cannot be fetched: .*gone\.tar\.gz"):
        live.deploy("Unsubmitted", Variant(one(f"{bucket}/m/ann.tar.gz", nowhere)))
