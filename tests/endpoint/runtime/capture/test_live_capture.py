"""Data capture through boto3: what is in the bucket after requests to a live endpoint."""

import json
import re
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from botocore.exceptions import ClientError, EventStreamError

from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many, one
from tests.endpoint.helpers.model_artifacts import ROW, booster, put, script
from tests.helpers.waiting import until
from torpor_endpoint.runtime.kept_parts import KEPT

ECHO = """
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept):
    if body == "fail":
        raise ValueError("no such house")
    return body, accept
"""
FILE = re.compile(
    r"captured/(?P<endpoint>\w+)/(?P<variant>\w+)/(?P<hour>\d{4}/\d\d/\d\d/\d\d)/(?P<at>\d\d-\d\d-\d{3})-[0-9a-f-]{36}\.jsonl"
)
SENT = {"Accept": "application/json", "content_type": "text/csv; charset=utf-8"}
ENOUGH_S = 60.0


@pytest.fixture(scope="module")
def bucket(live: LiveEndpoint) -> str:
    put(live.folder("capturing"), {"models/echo.tar.gz": script(ECHO)})
    return "capturing"


def capture(*modes: str, percentage: int = 100, bucket: str = "capturing", **members: Any) -> dict[str, Any]:
    """The members of CreateEndpointConfig for data capture."""
    types = {"CsvContentTypes": ["text/csv"], "JsonContentTypes": ["application/json"]}
    config = {
        "InitialSamplingPercentage": percentage,
        "DestinationS3Uri": f"s3://{bucket}/captured",
        "CaptureOptions": [{"CaptureMode": mode} for mode in modes or ("Input", "Output")],
        "CaptureContentTypeHeader": types,
    }
    return {"DataCaptureConfig": {**config, **members}}


def deployed(live: LiveEndpoint, name: str, *variants: str, **config: Any) -> str:
    """A multi-model endpoint with these variants, which captures."""
    container = many("capturing/models")
    return live.deploy(name, *(Variant(container, variant) for variant in variants or ("AllTraffic",)), **config)


def files(live: LiveEndpoint, name: str, bucket: str = "capturing") -> dict[str, list[Any]]:
    """The records of each file of an endpoint, by key."""
    s3 = live.client("s3")
    found = s3.list_objects_v2(Bucket=bucket, Prefix=f"captured/{name}/").get("Contents", [])
    bodies = {one["Key"]: s3.get_object(Bucket=bucket, Key=one["Key"])["Body"].read() for one in found}
    return {key: list(map(json.loads, body.splitlines())) for key, body in bodies.items()}


def records(live: LiveEndpoint, name: str, count: int) -> list[Any]:
    """All records of an endpoint, once there are so many."""

    def all_records() -> list[Any]:
        return [record for each in files(live, name).values() for record in each]

    until(lambda: len(all_records()) >= count, ENOUGH_S, look_s=0.2)
    return all_records()


def last_records(live: LiveEndpoint, name: str, count: int) -> list[Any]:
    """All records of an endpoint, which is deleted first: then it writes what it has, before a file's time is up."""
    live.sagemaker.delete_endpoint(EndpointName=name)
    return records(live, name, count)


def ask(live: LiveEndpoint, name: str, body: bytes = b"1,2", **members: Any) -> Any:
    return live.invoke(name, body, **{**SENT, "TargetModel": "echo.tar.gz", **members})


def test_a_request_and_its_answer_are_captured(live: LiveEndpoint, bucket: str) -> None:
    name = deployed(live, "Both", **capture())
    before = datetime.now(UTC)
    answer = ask(live, name, CustomAttributes="trace=7", InferenceId="id-1")
    (record,) = last_records(live, name, 1)
    both = record["captureData"]
    sides = [(side["mode"], side["observedContentType"], side["encoding"], side["data"]) for side in both.values()]
    assert sides == [
        ("INPUT", "text/csv; charset=utf-8", "CSV", "1,2"),
        ("OUTPUT", "application/json", "JSON", "1,2"),
    ]
    metadata = record["eventMetadata"]
    at = datetime.fromisoformat(metadata.pop("inferenceTime"))
    assert metadata.pop("torporModelVersion")
    assert (
        metadata.pop("torporModelDigest")
        == sha256((live.folder("capturing") / "models/echo.tar.gz").read_bytes()).hexdigest()
    )
    assert metadata == {
        "eventId": answer["ResponseMetadata"]["RequestId"],
        "customAttributes": ["trace=7"],
        "inferenceId": "id-1",
        "torporTargetModel": "echo.tar.gz",
    }
    (key,) = files(live, name)
    found = FILE.fullmatch(key)
    assert found is not None
    assert (found["endpoint"], found["variant"], found["hour"]) == (name, "AllTraffic", f"{at:%Y/%m/%d/%H}")
    assert before.replace(microsecond=0) <= at <= datetime.now(UTC)


@pytest.mark.parametrize(
    ("mode", "sides"),
    [
        ("Input", ["endpointInput"]),
        ("Output", ["endpointOutput"]),
        ("InputAndOutput", ["endpointInput", "endpointOutput"]),
    ],
)
def test_only_the_chosen_sides_are_captured(live: LiveEndpoint, bucket: str, mode: str, sides: list[str]) -> None:
    name = deployed(live, f"Mode{mode}", **capture(mode))
    ask(live, name)
    (record,) = last_records(live, name, 1)
    assert list(record["captureData"]) == sides


def test_a_body_of_no_listed_type_is_captured_in_base64(live: LiveEndpoint, bucket: str) -> None:
    name = deployed(live, "Binary", **capture())
    images = [bytes(range(256)) * times for times in (3, 10_000)]
    for image in images:
        ask(live, name, image, content_type="image/png", Accept="image/png")
    captured = last_records(live, name, 2)
    for side in ("endpointInput", "endpointOutput"):
        sides = [record["captureData"][side] for record in captured]
        assert {(one["encoding"], one["observedContentType"]) for one in sides} == {("BASE64", "image/png")}
        assert [b64decode(one["data"]) for one in sides] == images


def test_no_request_is_captured_at_0_percent_nor_when_capture_is_off(live: LiveEndpoint, bucket: str) -> None:
    for name, config in (("Zero", capture(percentage=0)), ("Off", capture(EnableCapture=False))):
        deployed(live, name, **config)
        ask(live, name)
        live.sagemaker.delete_endpoint(EndpointName=name)
        until(lambda name=name: gone(live, name), ENOUGH_S)  # type: ignore[misc]
        assert files(live, name) == {}


def gone(live: LiveEndpoint, name: str) -> bool:
    try:
        live.sagemaker.describe_endpoint(EndpointName=name)
    except ClientError:
        return True
    return False


def test_a_request_that_fails_is_not_captured(live: LiveEndpoint, bucket: str) -> None:
    name = deployed(live, "Failing", **capture())
    with pytest.raises(ClientError):
        ask(live, name, b"fail")
    with pytest.raises(ClientError):
        ask(live, name, TargetModel="none.tar.gz")
    ask(live, name, b"3,4")
    (record,) = last_records(live, name, 1)
    assert record["captureData"]["endpointInput"]["data"] == "3,4"


def test_each_variant_has_files_of_its_own(live: LiveEndpoint, bucket: str) -> None:
    name = deployed(live, "Two", "blue", "green", **capture())
    for variant in ("blue", "green", "green"):
        ask(live, name, variant.encode(), TargetVariant=variant)
    last_records(live, name, 3)
    for key, found in files(live, name).items():
        named = FILE.fullmatch(key)
        assert named is not None
        assert {record["captureData"]["endpointInput"]["data"] for record in found} == {named["variant"]}


def test_an_update_turns_capture_on_and_off_without_a_new_instance(live: LiveEndpoint, bucket: str) -> None:
    name = deployed(live, "Updated")
    ask(live, name, b"before")
    instances = [one["id"] for one in live.shown(name)[0]["instances"]]
    variants = live.sagemaker.describe_endpoint_config(EndpointConfigName=name)["ProductionVariants"]
    for config, members in (("UpdatedOn", capture()), ("UpdatedOff", {})):
        live.sagemaker.create_endpoint_config(EndpointConfigName=config, ProductionVariants=variants, **members)
        live.sagemaker.update_endpoint(EndpointName=name, EndpointConfigName=config)
        shown = live.settled(name).get("DataCaptureConfig", {})
        assert shown.get("CaptureStatus") == ("Started" if members else None)
        ask(live, name, config.encode())
    assert [one["id"] for one in live.shown(name)[0]["instances"]] == instances
    (record,) = records(live, name, 1)
    assert record["captureData"]["endpointInput"]["data"] == "UpdatedOn"


def test_a_single_model_endpoint_captures_the_version_without_a_target(live: LiveEndpoint, bucket: str) -> None:
    name = live.deploy("Alone", Variant(one("capturing/models/echo.tar.gz")), **capture())
    live.invoke(name, b"1", **SENT)
    (record,) = last_records(live, name, 1)
    assert "torporTargetModel" not in record["eventMetadata"]
    assert record["eventMetadata"]["torporModelVersion"] == version(live, "echo.tar.gz")


def version(live: LiveEndpoint, name: str) -> str:
    """What the instances call the version of an artifact that they read in place."""
    found = (live.folder("capturing") / "models" / name).stat()
    return f"{found.st_mtime_ns}-{found.st_size}-{found.st_ino}"


@pytest.mark.parametrize("kind", ["script", "booster"])  # the instance answers a booster inline
def test_a_record_has_the_version_that_answered_before_and_after_an_update_of_its_artifact(
    live: LiveEndpoint, bucket: str, kind: str
) -> None:
    name = deployed(live, f"Versions{kind}", **capture())
    model = f"{kind}.json" if kind == "booster" else f"{kind}.tar.gz"
    versions = []
    for weight in (1.0, 3.0):
        made = booster(weight) if kind == "booster" else script(ECHO + f"# {weight}")
        put(live.folder("capturing"), {f"models/{model}": made})
        with urlopen(Request(f"{live.url}/_torpor/reload?endpoint={name}&model={model}", method="POST")):
            pass
        versions += [version(live, model)] * 2
        for _ in range(2):
            ask(live, name, ROW, TargetModel=model)
    live.sagemaker.delete_endpoint(EndpointName=name)
    found = sorted(records(live, name, 4), key=lambda record: record["eventMetadata"]["inferenceTime"])
    assert [record["eventMetadata"]["torporTargetModel"] for record in found] == [model] * 4
    assert Counter(record["eventMetadata"]["torporModelVersion"] for record in found) == Counter(versions)
    assert len(set(versions)) == 2


PARTS = """
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept):
    yield "1,"
    yield "2"
    if str(body) == "fails":
        raise ValueError("no more")
    if str(body) == "large":
        for _ in range(40):
            yield "€" * 10_000
    if str(body) == "endless":
        while True:
            yield "3"
"""


def test_a_streamed_answer_is_captured_when_it_ends_however_it_ends(live: LiveEndpoint, bucket: str) -> None:
    put(live.folder("capturing"), {"models/parts.tar.gz": script(PARTS)})
    name = live.deploy("Streamed", Variant(one("capturing/models/parts.tar.gz")), **capture())
    for body in ("whole", "fails", "large"):
        with suppress(EventStreamError):
            list(stream(live, name, body))
    leaving = stream(live, name, "endless")
    next(iter(leaving))
    leaving.close()
    found = {one["captureData"]["endpointInput"]["data"]: one for one in records(live, name, 4)}
    outputs = {body: record["captureData"]["endpointOutput"] for body, record in found.items()}
    assert {(one["encoding"], one["observedContentType"]) for one in outputs.values()} == {("CSV", "text/csv")}
    ends = {body: record["eventMetadata"]["torporStream"] for body, record in found.items()}
    assert ends == {"whole": "Complete", "fails": "Failed", "large": "Complete", "endless": "CallerLeft"}
    assert (outputs["whole"]["data"], outputs["fails"]["data"]) == ("1,2", "1,2")
    assert outputs["endless"]["data"].startswith("1,2")
    assert outputs["large"]["data"].startswith("1,2€")
    assert 0 <= KEPT.stream_bytes - len(outputs["large"]["data"].encode()) < 3
    cut = {body for body, record in found.items() if record["eventMetadata"].get("torporOutputCut")}
    assert cut - {"endless"} == {"large"}
    assert {record["eventMetadata"]["torporModelVersion"] for record in found.values()} == {
        version(live, "parts.tar.gz")
    }


def stream(live: LiveEndpoint, name: str, body: str) -> Any:
    return live.runtime.invoke_endpoint_with_response_stream(
        EndpointName=name, Body=body.encode(), ContentType="text/csv", Accept="text/csv"
    )["Body"]


def test_a_missing_bucket_fails_no_request_and_gets_its_records_once_it_is_there(
    live: LiveEndpoint, bucket: str
) -> None:
    name = deployed(live, "Missing", **capture(bucket="not-yet"))
    assert [ask(live, name)["Body"] for _ in range(3)] == [b"1,2"] * 3
    until(lambda: "captured data of endpoint Missing cannot be written" in live.output(), ENOUGH_S)
    live.client("s3").create_bucket(Bucket="not-yet")
    until(lambda: len([*files(live, name, "not-yet").values()]) == 1, ENOUGH_S, look_s=0.2)
    with urlopen(f"{live.url}/_torpor/metrics") as page:
        metrics = page.read().decode()
    line = f'torpor_data_capture_records_total{{endpoint_name="{name}",variant_name="AllTraffic"}}'
    assert f"{line} 3.0" in metrics


@pytest.fixture
def own(tmp_path: Path) -> Iterator[LiveEndpoint]:
    with LiveEndpoint(tmp_path / "data") as endpoint:
        put(endpoint.folder("capturing"), {"models/echo.tar.gz": script(ECHO)})
        yield endpoint


@pytest.mark.thorough
def test_what_is_captured_survives_a_stop_and_capture_goes_on_after_it(own: LiveEndpoint) -> None:
    name = deployed(own, "Restarted", **capture())
    ask(own, name, b"before")
    own.stop()
    own.start()
    assert [len(found) for found in files(own, name).values()] == [1]
    ask(own, name, b"after")
    captured = records(own, name, 2)
    assert {record["captureData"]["endpointInput"]["data"] for record in captured} == {"before", "after"}


@pytest.mark.thorough
def test_half_of_the_requests_are_captured_at_50_percent_the_same_half_for_a_seed(tmp_path: Path) -> None:
    chosen = []
    for number in range(2):
        with LiveEndpoint(tmp_path / str(number), "--seed=5") as endpoint:
            put(endpoint.folder("capturing"), {"models/echo.tar.gz": script(ECHO)})
            name = deployed(endpoint, "Half", **capture(percentage=50))
            for request in range(40):
                ask(endpoint, name, str(request).encode())
            endpoint.sagemaker.delete_endpoint(EndpointName=name)
            captured = records(endpoint, name, 1)
        chosen.append([record["captureData"]["endpointInput"]["data"] for record in captured])
    assert chosen[0] == chosen[1]
    assert 8 < len(chosen[0]) < 32


@pytest.mark.thorough
def test_after_a_crash_only_what_was_not_yet_written_is_missing(own: LiveEndpoint) -> None:
    name = deployed(own, "Crashed", **capture())
    ask(own, name, b"written")
    records(own, name, 1)
    ask(own, name, b"perhaps")
    own.kill()
    own.start()
    ask(own, name, b"after")
    captured = [record["captureData"]["endpointInput"]["data"] for record in records(own, name, 2)]
    assert {"written", "after"} <= set(captured) <= {"written", "perhaps", "after"}
    assert len(captured) == len(set(captured))


def test_captured_data_goes_to_the_other_s3(
    live: LiveEndpoint, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in (("AWS_ACCESS_KEY_ID", "test"), ("AWS_SECRET_ACCESS_KEY", "test")):
        monkeypatch.setenv(variable, value)
    with LiveEndpoint(tmp_path / "data", "--s3-endpoint", live.url) as remote:
        name = deployed(remote, "Remote", **capture())
        ask(remote, name)
        assert remote.stop() == 0
    assert [len(found) for found in files(live, name).values()] == [1]
