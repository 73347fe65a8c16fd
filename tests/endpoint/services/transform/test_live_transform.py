"""Batch transform behind the one port, by boto3: results are complete and right, also after a kill."""

import csv
import gzip
import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.endpoint.helpers.live_endpoint import LiveEndpoint, one
from tests.endpoint.helpers.model_artifacts import put, script
from tests.helpers.waiting import until

SUMS = """
def model_fn(folder):
    return None

def transform_fn(model, body, content_type, accept):
    text = body if isinstance(body, str) else body.decode()
    rows = [[float(value) for value in line.split(",")] for line in text.splitlines()]
    return "".join(f"{sum(row)}\\n" for row in rows), "text/csv"
"""


@pytest.fixture(scope="module")
def model(live: LiveEndpoint) -> str:
    put(live.folder("transform"), {"sums.tar.gz": script(SUMS)})
    live.sagemaker.create_model(
        ModelName="sums", ExecutionRoleArn="arn:aws:iam::123456789012:role/r", PrimaryContainer=one("transform/sums.tar.gz")
    )
    return "sums"


def job(name: str, model: str = "sums", split: str = "Line", **members: Any) -> dict[str, Any]:
    source = {"S3DataType": "S3Prefix", "S3Uri": f"s3://transform/{name}/in/"}
    return {
        "TransformJobName": name,
        "ModelName": model,
        "TransformInput": {"DataSource": {"S3DataSource": source}, "ContentType": "text/csv", "SplitType": split},
        "TransformOutput": {"S3OutputPath": f"s3://transform/{name}/out", "AssembleWith": "Line", "Accept": "text/csv"},
        "TransformResources": {"InstanceType": "ml.m5.large", "InstanceCount": 1},
        **members,
    }


def ended(live: LiveEndpoint, name: str) -> Any:
    def described() -> Any:
        found = live.sagemaker.describe_transform_job(TransformJobName=name)
        return found if "TransformEndTime" in found else None

    return until(described, 60.0, 0.05)


def test_each_object_gets_a_result_with_its_rows_in_order(live: LiveEndpoint, model: str) -> None:
    bodies = {f"houses/in/{part}.csv": "".join(f"{row},{part}\n" for row in range(1000)) for part in range(3)}
    put(live.folder("transform"), {key: body.encode() for key, body in bodies.items()})
    live.sagemaker.create_transform_job(**job("houses", MaxConcurrentTransforms=2, BatchStrategy="MultiRecord"))
    live.sagemaker.get_waiter("transform_job_completed_or_stopped").wait(
        TransformJobName="houses", WaiterConfig={"Delay": 1}
    )
    assert ended(live, "houses")["TransformJobStatus"] == "Completed"
    for part in range(3):
        lines = (live.folder("transform") / f"houses/out/{part}.csv.out").read_text().splitlines()
        assert lines == [str(float(row + part)) for row in range(1000)]
    [found] = live.sagemaker.list_transform_jobs(NameContains="houses")["TransformJobSummaries"]
    assert found["TransformJobStatus"] == "Completed"


def test_an_object_that_fails_leaves_no_result_and_the_others_have_theirs(live: LiveEndpoint, model: str) -> None:
    put(live.folder("transform"), {"mixed/in/bad.csv": b"no number\n", "mixed/in/good.csv": b"1,2\n"})
    live.sagemaker.create_transform_job(**job("mixed", ModelClientConfig={"InvocationsMaxRetries": 0}))
    found = ended(live, "mixed")
    assert found["TransformJobStatus"] == "Failed"
    assert "transform/mixed/in/bad.csv" in found["FailureReason"]
    out = live.folder("transform") / "mixed" / "out"
    assert [path.name for path in out.iterdir()] == ["good.csv.out"]
    streams = live.client("logs").describe_log_streams(logGroupName="/aws/sagemaker/TransformJobs")["logStreams"]
    assert "mixed/data-log" in {stream["logStreamName"] for stream in streams}


def test_rows_are_filtered_and_joined(live: LiveEndpoint, model: str) -> None:
    put(live.folder("transform"), {"joined/in/a.csv.gz": gzip.compress(b"id-1,1,2\nid-2,3,4\n")})
    request = job(
        "joined", DataProcessing={"InputFilter": "$[1:]", "JoinSource": "Input", "OutputFilter": "$[0,-1]"}
    )
    request["TransformInput"]["CompressionType"] = "Gzip"
    live.sagemaker.create_transform_job(**request)
    assert ended(live, "joined")["TransformJobStatus"] == "Completed"
    rows = list(csv.reader((live.folder("transform") / "joined/out/a.csv.gz.out").read_text().splitlines()))
    assert rows == [["id-1", "3.0"], ["id-2", "7.0"]]


def test_a_manifest_names_the_objects(live: LiveEndpoint, model: str) -> None:
    manifest = json.dumps([{"prefix": "s3://transform/listed/in/"}, "b.csv"])
    put(live.folder("transform"), {"listed/in/a.csv": b"1\n", "listed/in/b.csv": b"2\n", "listed/m": manifest.encode()})
    request = job("listed")
    request["TransformInput"]["DataSource"] = {
        "S3DataSource": {"S3DataType": "ManifestFile", "S3Uri": "s3://transform/listed/m"}
    }
    live.sagemaker.create_transform_job(**request)
    assert ended(live, "listed")["TransformJobStatus"] == "Completed"
    assert [path.name for path in (live.folder("transform") / "listed/out").iterdir()] == ["b.csv.out"]


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ({"ModelName": "nobody"}, "Could not find model"),
        ({"MaxPayloadInMB": 60, "MaxConcurrentTransforms": 2}, "must not be more than 100"),
        ({"DataProcessing": {"InputFilter": "$..a"}}, r"InputFilter \$..a.*position 2"),
        ({"DataProcessing": {"InputFilter": "$.a"}}, "columns of CSV have indexes only"),
        ({"BatchStrategy": "MultiRecord", "split": "None"}, "needs a SplitType other than None"),
    ],
)
def test_a_request_that_cannot_be_done_is_refused(
    live: LiveEndpoint, model: str, members: dict[str, Any], why: str
) -> None:
    with pytest.raises(ClientError, match=why):
        live.sagemaker.create_transform_job(**{**job("refused", split=members.pop("split", "Line")), **members})
    with pytest.raises(ClientError, match="Could not find requested job"):
        live.sagemaker.describe_transform_job(TransformJobName="refused")
