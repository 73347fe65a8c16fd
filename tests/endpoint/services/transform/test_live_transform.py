"""Batch transform behind the one port, by boto3: results are complete and right, also after a kill."""

import csv
import gzip
import json
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from botocore.exceptions import ClientError

from tests.endpoint.helpers.live_endpoint import LiveEndpoint, many, one
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

SIZES = """
def model_fn(folder):
    return None

def transform_fn(model, body, content_type, accept):
    return f"{len(body)} bytes", "text/csv"
"""

ADVISES = """
import json
from sagemaker_containers.beta.framework import worker

def model_fn(folder):
    return None

def execution_parameters_fn():
    advice = {"MaxConcurrentTransforms": 2, "BatchStrategy": "SINGLE_RECORD", "MaxPayloadInMB": 1}
    return worker.Response(response=json.dumps(advice), mimetype="application/json")

def transform_fn(model, body, content_type, accept):
    return f"{len(body.splitlines())}\\n", "text/csv"
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


def logged(live: LiveEndpoint, stream: dict[str, str]) -> Any:
    return live.client("logs").get_log_events(**stream, startFromHead=True)["events"]


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


@pytest.mark.parametrize("strategy", ["SingleRecord", "MultiRecord"])
@pytest.mark.parametrize("split", [{"SplitType": "None"}, {}], ids=["none", "absent"])
def test_without_a_split_type_an_object_is_one_payload_whatever_the_strategy(
    live: LiveEndpoint, model: str, strategy: str, split: dict[str, str]
) -> None:
    name = f"unsplit-{strategy}-{len(split)}"
    put(
        live.folder("transform"),
        {f"{name}/in/a.csv": b"1,2\n3,4\n", f"{name}/in/b.csv": b"5\n", "sizes.tar.gz": script(SIZES)},
    )
    if not live.sagemaker.list_models(NameContains="sizes")["Models"]:
        live.sagemaker.create_model(
            ModelName="sizes", ExecutionRoleArn=ROLE, PrimaryContainer=one("transform/sizes.tar.gz")
        )
    request = job(name, "sizes", BatchStrategy=strategy)
    del request["TransformInput"]["SplitType"], request["TransformOutput"]["AssembleWith"]
    request["TransformInput"].update(split)
    live.sagemaker.create_transform_job(**request)
    assert ended(live, name)["TransformJobStatus"] == "Completed"
    out = live.folder("transform") / name / "out"
    assert {path.name: path.read_text() for path in out.iterdir()} == {"a.csv.out": "8 bytes", "b.csv.out": "2 bytes"}


@pytest.mark.parametrize(
    ("named", "result", "settings"),
    [
        ({}, "1\n1\n1\n", "MaxConcurrentTransforms=2, MaxPayloadInMB=1, BatchStrategy=SINGLE_RECORD"),
        (
            {"BatchStrategy": "MultiRecord", "MaxPayloadInMB": 6, "MaxConcurrentTransforms": 1},
            "3\n",
            "MaxConcurrentTransforms=1, MaxPayloadInMB=6, BatchStrategy=MULTI_RECORD",
        ),
    ],
    ids=["advised", "named"],
)
def test_a_script_advises_what_the_job_does_not_name(
    live: LiveEndpoint, model: str, named: dict[str, Any], result: str, settings: str
) -> None:
    name = f"advised-{len(named)}"
    put(live.folder("transform"), {f"{name}/in/a.csv": b"1,2\n3,4\n5,6\n", f"{name}.tar.gz": script(ADVISES)})
    live.sagemaker.create_model(ModelName=name, ExecutionRoleArn=ROLE, PrimaryContainer=one(f"transform/{name}.tar.gz"))
    request = job(name, name, **named)
    del request["TransformOutput"]["AssembleWith"]
    live.sagemaker.create_transform_job(**request)
    assert ended(live, name)["TransformJobStatus"] == "Completed"
    assert (live.folder("transform") / name / "out/a.csv.out").read_text() == result
    lines = logged(live, {"logGroupName": "/aws/sagemaker/TransformJobs", "logStreamName": f"{name}/data-log"})
    assert lines[0]["message"].endswith(settings)


def test_an_object_that_fails_leaves_no_result_and_the_others_have_theirs(live: LiveEndpoint, model: str) -> None:
    bad = {"mixed/in/bad.csv": b"no number\n", "mixed/in/cut.csv.gz": gzip.compress(b"1,2\n")[:-9]}
    put(live.folder("transform"), {**bad, "mixed/in/good.csv": gzip.compress(b"1,2\n")})
    put(live.folder("transform"), {"mixed/in/bad.csv": gzip.compress(b"no number\n")})
    request = job("mixed", ModelClientConfig={"InvocationsMaxRetries": 0}, MaxConcurrentTransforms=3)
    request["TransformInput"]["CompressionType"] = "Gzip"
    live.sagemaker.create_transform_job(**request)
    found = ended(live, "mixed")
    assert found["TransformJobStatus"] == "Failed"
    assert "2 of 3 objects have no result" in found["FailureReason"]
    out = live.folder("transform") / "mixed" / "out"
    assert [path.name for path in out.iterdir()] == ["good.csv.out"]
    group = {"logGroupName": "/aws/sagemaker/TransformJobs", "logStreamName": "mixed/data-log"}
    lines = [event["message"].partition(":[sagemaker logs]: ")[2] for event in logged(live, group)]
    assert lines[0] == "MaxConcurrentTransforms=3, MaxPayloadInMB=6, BatchStrategy=MULTI_RECORD"
    assert "transform/mixed/in/bad.csv: ServerError: 500" in lines
    assert any("could not convert string to float" in line for line in lines), "the model's own words"
    assert any(line.startswith("transform/mixed/in/cut.csv.gz: ClientError: ") for line in lines)


@pytest.mark.parametrize(("missing", "why"), [("in", "No S3 objects found"), ("out", "bucket does not exist")])
def test_a_job_without_input_or_output_bucket_fails_before_it_has_instances(
    live: LiveEndpoint, model: str, missing: str, why: str
) -> None:
    request = job(f"without-{missing}")
    if missing == "out":
        put(live.folder("transform"), {"without-out/in/a.csv": b"1\n"})
        request["TransformOutput"]["S3OutputPath"] = "s3://nowhere/out"
    live.sagemaker.create_transform_job(**request)
    found = ended(live, f"without-{missing}")
    assert found["TransformJobStatus"] == "Failed"
    assert why in found["FailureReason"]
    with pytest.raises(HTTPError, match="404"):
        urlopen(f"{live.url}/_torpor/costs?endpoint=transform.without-{missing}")


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
        ({"ModelName": "scales"}, "mode MultiModel: give TORPOR_BATCH_MODEL"),
        ({"Environment": {"TORPOR_BATCH_MODEL": "$[0]"}}, "ModelName sums is not of mode MultiModel"),
        ({"ModelName": "scales", "Environment": {"TORPOR_BATCH_MODEL": "0"}}, r"must begin with \$ \(position 1"),
        ({"MaxPayloadInMB": 0, "DataProcessing": {"JoinSource": "Input"}}, "MaxPayloadInMB 0 sends a whole object"),
        (
            {
                "MaxPayloadInMB": 0,
                "BatchStrategy": "SingleRecord",
                "split": "None",
                "DataProcessing": {"InputFilter": "$[1:]"},
            },
            "MaxPayloadInMB 0 sends a whole object",
        ),
    ],
)
def test_a_request_that_cannot_be_done_is_refused(
    live: LiveEndpoint, model: str, many_models: str, members: dict[str, Any], why: str
) -> None:
    with pytest.raises(ClientError, match=why):
        live.sagemaker.create_transform_job(**{**job("refused", split=members.pop("split", "Line")), **members})
    with pytest.raises(ClientError, match="Could not find requested job"):
        live.sagemaker.describe_transform_job(TransformJobName="refused")


def _written_ns(path: Path) -> int:
    return path.stat().st_mtime_ns


@pytest.mark.thorough
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
        before = {f"{number}.csv.out": _written_ns(folder / f"cut/out/{number}.csv.out") for number in range(2)}
        live.sagemaker.delete_model(ModelName="sums")
        live.kill()
        put(folder, {"cut/in/late.csv": b"1\n"})
        gate.touch()
        live.start()
        assert ended(live, "cut")["TransformJobStatus"] == "Completed"
        results = {path.name: path for path in (folder / "cut/out").iterdir()}
        assert {name: path.read_text() for name, path in results.items()} == {
            f"{number}.csv.out": f"{float(number)}\n" for number in range(6)
        }
        assert {name: _written_ns(results[name]) for name in before} == before, "what was done is not done again"
        assert not (tmp_path / "data" / "transform" / "cut").exists()


def test_captured_objects_are_listed_and_their_records_marked(live: LiveEndpoint, model: str) -> None:
    bodies = {"marked/in/a.csv": b"1,2\n", "marked/in/more/b.csv": b"3,4\n5,6\n"}
    put(live.folder("transform"), bodies)
    capture = {"DestinationS3Uri": "s3://transform/marked/captured", "GenerateInferenceId": True}
    live.sagemaker.create_transform_job(**job("marked", DataCaptureConfig=capture))
    assert ended(live, "marked")["TransformJobStatus"] == "Completed"
    rows = list(csv.reader((live.folder("transform") / "marked/out/more/b.csv.out").read_text().splitlines()))
    assert [row[0] for row in rows] == ["7.0", "11.0"]
    assert len({row[1] for row in rows}) == 2
    assert {row[2][-1] for row in rows} == {"Z"}
    [listed] = (live.folder("transform") / "marked/captured/input").rglob("*.json")
    assert json.loads(listed.read_text()) == [{"prefix": "s3://transform/marked/in/"}, "a.csv", "more/b.csv"]
    [listed] = (live.folder("transform") / "marked/captured/output").rglob("*.json")
    assert json.loads(listed.read_text())[0] == {"prefix": "s3://transform/marked/out/"}


@pytest.mark.thorough
def test_without_a_limit_an_object_is_one_request_in_chunks(live: LiveEndpoint, model: str) -> None:
    rows = b"1,2\n" * 400_000
    put(live.folder("transform"), {"whole/in/a.csv": rows, "whole/in/bad.csv": b"none\n"})
    request = job("whole", MaxPayloadInMB=0, ModelClientConfig={"InvocationsMaxRetries": 1})
    live.sagemaker.create_transform_job(**request)
    assert "1 of 2 objects" in ended(live, "whole")["FailureReason"]
    assert (live.folder("transform") / "whole/out/a.csv.out").read_bytes() == b"3.0\n" * 400_000
    group = {"logGroupName": "/aws/sagemaker/TransformJobs", "logStreamName": "whole/data-log"}
    assert any("MaxPayloadInMB=0" in event["message"] for event in logged(live, group))


SCALES = """
def model_fn(folder):
    return None

def transform_fn(model, body, content_type, accept):
    text = body if isinstance(body, str) else body.decode()
    return "".join(f"{{{factor} * float(line)}}\\n" for line in text.splitlines()), "text/csv"
"""


@pytest.fixture(scope="module")
def many_models(live: LiveEndpoint) -> str:
    put(live.folder("transform"), {f"scales/{n}.tar.gz": script(SCALES.format(factor=n)) for n in (2, 3)})
    container = many("transform/scales/")
    live.sagemaker.create_model(ModelName="scales", ExecutionRoleArn=ROLE, PrimaryContainer=container)
    return "scales"


def test_a_column_names_the_model_of_each_record(live: LiveEndpoint, many_models: str) -> None:
    rows = [(f"{2 + number % 2}.tar.gz", number) for number in range(40)]
    put(live.folder("transform"), {"columns/in/a.csv": "".join(f"{name},{n}\n" for name, n in rows).encode()})
    request = job("columns", many_models, Environment={"TORPOR_BATCH_MODEL": "$[0]"})
    request["DataProcessing"] = {"InputFilter": "$[1]", "JoinSource": "Input"}
    live.sagemaker.create_transform_job(**request)
    assert ended(live, "columns")["TransformJobStatus"] == "Completed"
    lines = (live.folder("transform") / "columns/out/a.csv.out").read_text().splitlines()
    assert lines == [f"{name},{n},{float((2 + n % 2) * n)}" for name, n in rows]


def test_a_manifest_names_the_model_of_each_object(live: LiveEndpoint, many_models: str) -> None:
    entries = [{"key": f"{number}.csv", "model": f"{number}.tar.gz"} for number in (2, 3)]
    manifest = json.dumps([{"prefix": "s3://transform/entries/in/"}, *entries])
    put(live.folder("transform"), {"entries/in/2.csv": b"5\n", "entries/in/3.csv": b"5\n"})
    put(live.folder("transform"), {"entries/m": manifest.encode()})
    request = job("entries", many_models)
    request["TransformInput"]["DataSource"] = {
        "S3DataSource": {"S3DataType": "ManifestFile", "S3Uri": "s3://transform/entries/m"}
    }
    live.sagemaker.create_transform_job(**request)
    assert ended(live, "entries")["TransformJobStatus"] == "Completed"
    out = live.folder("transform") / "entries/out"
    assert {path.name: path.read_text() for path in out.iterdir()} == {"2.csv.out": "10.0\n", "3.csv.out": "15.0\n"}


def test_a_job_is_stopped(live: LiveEndpoint, model: str, tmp_path: Path) -> None:
    put(live.folder("transform"), {"waits.tar.gz": script(WAITS.format(gate=tmp_path / "never"))})
    put(live.folder("transform"), {f"stopped/in/{number}.csv": f"{number}\n".encode() for number in range(9)})
    live.sagemaker.create_model(
        ModelName="waits", ExecutionRoleArn=ROLE, PrimaryContainer=one("transform/waits.tar.gz")
    )
    live.sagemaker.create_transform_job(**job("stopped", "waits"))
    until(lambda: (live.folder("transform") / "stopped/out/2.csv.out").exists(), 60.0)
    found = until(lambda: live.cloudwatch.list_metrics(Namespace="/aws/sagemaker/TransformJobs")["Metrics"], 60)
    assert found[0]["Dimensions"][0]["Name"] == "Host"
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
