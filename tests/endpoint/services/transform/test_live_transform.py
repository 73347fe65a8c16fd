"""Batch transform behind the one port, by boto3: results are complete and right, also after a kill."""

import csv
import gzip
import json
from pathlib import Path
from typing import Any
from urllib.request import urlopen

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

WAITS = """
import pathlib, time

def model_fn(folder):
    return None

def transform_fn(model, body, content_type, accept):
    number = float(body if isinstance(body, str) else body.decode())
    while number > 2 and not pathlib.Path("{gate}").exists():
        time.sleep(0.05)
    return f"{{number}}\\n", "text/csv"
"""
ROLE = "arn:aws:iam::123456789012:role/r"


@pytest.fixture(scope="module")
def model(live: LiveEndpoint) -> str:
    put(live.folder("transform"), {"sums.tar.gz": script(SUMS)})
    live.sagemaker.create_model(
        ModelName="sums",
        ExecutionRoleArn=ROLE,
        PrimaryContainer=one("transform/sums.tar.gz"),
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
    with urlopen(f"{live.url}/_torpor/costs?endpoint=transform.houses") as answer:
        [costs] = json.load(answer)["variants"]
    assert costs["usd"] > 0


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
    request = job("joined", DataProcessing={"InputFilter": "$[1:]", "JoinSource": "Input", "OutputFilter": "$[0,-1]"})
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


def test_a_killed_endpoint_goes_on_with_the_objects_that_are_not_done(tmp_path: Path) -> None:
    with LiveEndpoint(tmp_path / "data") as live:
        folder, gate = live.folder("transform"), tmp_path / "gate"
        put(folder, {"sums.tar.gz": script(WAITS.format(gate=gate))})
        put(folder, {f"cut/in/{number}.csv": f"{number}\n".encode() for number in range(6)})
        live.sagemaker.create_model(
            ModelName="sums",
            ExecutionRoleArn=ROLE,
            PrimaryContainer=one("transform/sums.tar.gz"),
        )
        live.sagemaker.create_transform_job(**job("cut"))
        until(lambda: (folder / "cut/out/2.csv.out").exists(), 60.0)
        before = {path.name: path.stat().st_mtime_ns for path in (folder / "cut/out").iterdir()}
        live.kill()
        gate.touch()
        live.start()
        assert ended(live, "cut")["TransformJobStatus"] == "Completed"
        results = {path.name: path for path in (folder / "cut/out").iterdir()}
        assert {name: path.read_text() for name, path in results.items()} == {
            f"{number}.csv.out": f"{float(number)}\n" for number in range(6)
        }
        assert {name: results[name].stat().st_mtime_ns for name in before} == before, "what was done is not done again"
        assert not (tmp_path / "data" / "transform" / "cut").exists()


def test_a_job_is_stopped(live: LiveEndpoint, model: str, tmp_path: Path) -> None:
    put(live.folder("transform"), {"waits.tar.gz": script(WAITS.format(gate=tmp_path / "never"))})
    put(live.folder("transform"), {f"stopped/in/{number}.csv": f"{number}\n".encode() for number in range(9)})
    live.sagemaker.create_model(
        ModelName="waits", ExecutionRoleArn=ROLE, PrimaryContainer=one("transform/waits.tar.gz")
    )
    live.sagemaker.create_transform_job(**job("stopped", "waits"))
    until(lambda: (live.folder("transform") / "stopped/out/2.csv.out").exists(), 60.0)
    live.sagemaker.stop_transform_job(TransformJobName="stopped")
    assert ended(live, "stopped")["TransformJobStatus"] == "Stopped"
    with pytest.raises(ClientError, match="is in status Stopped"):
        live.sagemaker.stop_transform_job(TransformJobName="stopped")


def test_a_payload_passes_all_containers_of_a_pipeline(live: LiveEndpoint, model: str) -> None:
    put(live.folder("transform"), {"row/in/a.csv": b"1,2\n3,4\n"})
    two = [one("transform/sums.tar.gz"), one("transform/sums.tar.gz")]
    live.sagemaker.create_model(ModelName="row", ExecutionRoleArn=ROLE, Containers=two)
    live.sagemaker.create_transform_job(**job("row", "row"))
    assert ended(live, "row")["TransformJobStatus"] == "Completed"
    assert (live.folder("transform") / "row/out/a.csv.out").read_text() == "3.0\n7.0\n"
