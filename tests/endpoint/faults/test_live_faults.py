"""Each kind of fault on a whole endpoint: what the caller sees, and that the endpoint is well afterwards."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from botocore.exceptions import ClientError, HTTPClientError

from tests.endpoint.helpers.constant_models import constant, number_of
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import put

MODELS = {f"m{number}.tar": constant(float(number)) for number in range(12)}
NAME = "faulty"


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveEndpoint]:
    with LiveEndpoint(tmp_path_factory.mktemp("faults"), "--faults") as started:
        put(started.folder("models"), MODELS)
        started.deploy(NAME, Variant(many("models/")))
        yield started


@pytest.fixture(autouse=True)
def _nothing_strikes_afterwards(live: LiveEndpoint) -> Iterator[None]:
    yield
    inject(live, "")


def inject(live: LiveEndpoint, schedule: str) -> Any:
    with urlopen(Request(f"{live.url}/_torpor/faults", schedule.encode(), method="POST")) as answer:
        return json.load(answer)


def struck(live: LiveEndpoint) -> list[tuple[str, str]]:
    with urlopen(f"{live.url}/_torpor/faults") as answer:
        return [(one["fault"], one["on"]) for one in json.load(answer)["struck"]]


def call(live: LiveEndpoint, model: str) -> float:
    return number_of(live.invoke(NAME, b"1", TargetModel=model))


def refused(live: LiveEndpoint, model: str) -> Any:
    with pytest.raises(ClientError) as error:
        call(live, model)
    return error.value.response["Error"]


def test_a_slow_store_delays_the_load_and_nothing_else(live: LiveEndpoint) -> None:
    inject(live, "slow-s3 seconds=0.4")
    began_s = time.monotonic()
    assert call(live, "m1.tar") == 1.0
    assert time.monotonic() - began_s >= 0.4
    assert call(live, "m1.tar") == 1.0
    assert struck(live) == [("slow-s3 seconds=0.4", "m1.tar")], "the model is in memory: nothing is read"


def test_a_store_that_fails_twice_is_asked_again(live: LiveEndpoint) -> None:
    inject(live, "failing-s3 times=2")
    assert call(live, "m2.tar") == 2.0
    assert len(struck(live)) == 2


def test_a_store_that_goes_on_failing_is_an_error_and_its_end_the_end_of_it(live: LiveEndpoint) -> None:
    inject(live, "failing-s3 times=100")
    assert "SlowDown" in refused(live, "m3.tar")["Message"]
    inject(live, "")
    assert call(live, "m3.tar") == 3.0


def test_a_connection_that_ends_early_is_noticed(live: LiveEndpoint) -> None:
    inject(live, "truncated-s3 times=100")
    assert "Failed to download model data" in refused(live, "m4.tar")["Message"]
    with pytest.raises(HTTPClientError):
        live.client("s3").get_object(Bucket="models", Key="m4.tar")["Body"].read()
    inject(live, "")
    assert call(live, "m4.tar") == 4.0


def test_an_application_s_own_upload_fails_too(live: LiveEndpoint) -> None:
    inject(live, "failing-s3 model=upload.txt\nskewed-clock model=upload.txt after=1")
    s3 = live.client("s3")
    for code in ("SlowDown", "RequestTimeTooSkewed"):
        with pytest.raises(ClientError, match=code):
            s3.put_object(Bucket="models", Key="upload.txt", Body=b"hello")
    s3.put_object(Bucket="models", Key="upload.txt", Body=b"hello")
    assert s3.get_object(Bucket="models", Key="upload.txt")["Body"].read() == b"hello"


def test_a_corrupt_artifact_is_refused_and_the_good_one_is_loaded_later(live: LiveEndpoint) -> None:
    inject(live, "corrupt-artifact model=m5.tar")
    assert refused(live, "m5.tar")["Code"] in ("ValidationError", "ModelError")
    live.folder("models").joinpath("m5.tar").write_bytes(MODELS["m5.tar"])  # its owner uploads it again
    assert call(live, "m5.tar") == 5.0


def test_a_load_without_memory_is_an_error_of_the_container(live: LiveEndpoint) -> None:
    inject(live, "out-of-memory model=m6.tar")
    error = refused(live, "m6.tar")
    assert error["Code"] == "ModelError"
    assert "507" in error["Message"]
    assert "a fault of the schedule" in error["Message"]
    assert call(live, "m6.tar") == 6.0


def test_a_killed_instance_is_replaced_and_the_request_waits_for_it(live: LiveEndpoint) -> None:
    assert call(live, "m7.tar") == 7.0
    inject(live, "instance-killed")
    answer = live.invoke(NAME, b"1", TargetModel="m7.tar")
    assert number_of(answer) == 7.0
    assert "hold;dur=" in answer["ResponseMetadata"]["HTTPHeaders"]["server-timing"]
    [(_, on)] = struck(live)
    assert on.startswith(f"{NAME}/m7.tar on i-")


def test_a_frozen_instance_answers_when_it_goes_on(live: LiveEndpoint) -> None:
    assert call(live, "m8.tar") == 8.0
    inject(live, "instance-frozen seconds=0.5")
    began_s = time.monotonic()
    assert call(live, "m8.tar") == 8.0
    assert time.monotonic() - began_s >= 0.5


def test_a_throttled_invocation_gets_awss_error_once(live: LiveEndpoint) -> None:
    inject(live, "throttled after=1")
    assert call(live, "m9.tar") == 9.0
    assert refused(live, "m9.tar")["Code"] == "ThrottlingException"
    assert call(live, "m9.tar") == 9.0
    assert len(struck(live)) == 1


def test_a_schedule_counts_down_and_a_new_one_takes_its_place(live: LiveEndpoint) -> None:
    assert inject(live, "throttled model=m9.tar times=2\nslow-s3")["left"] == "throttled model=m9.tar times=2\nslow-s3"
    assert refused(live, "m9.tar")["Code"] == "ThrottlingException"
    with urlopen(f"{live.url}/_torpor/faults") as answer:
        assert json.load(answer)["left"] == "throttled model=m9.tar\nslow-s3"
    assert inject(live, "") == {"struck": [], "left": ""}


def test_a_schedule_that_is_not_understood_is_refused(live: LiveEndpoint) -> None:
    with pytest.raises(HTTPError) as error:
        inject(live, "throttled\nslow-s4")
    assert error.value.code == 400
    assert "'slow-s4': kind: 'slow-s4' is none of" in error.value.read().decode()


@pytest.mark.thorough
def test_the_steps_of_struck_requests_add_up(live: LiveEndpoint) -> None:
    inject(live, "instance-killed\nslow-s3 seconds=0.2\ninstance-frozen after=1 seconds=0.2")
    for _ in range(3):
        call(live, "m10.tar")
    with urlopen(f"{live.url}/_torpor/cold-starts?endpoint={NAME}&model=m10.tar") as answer:
        rows = json.load(answer)["cold_starts"]
    assert rows
    for row in rows:
        assert sum(row["steps"].values()) == pytest.approx(row["total_s"], abs=0.01)
    assert "do not add up" not in live.output()
    assert "add up to" not in live.output()


def test_an_endpoint_without_the_option_refuses(tmp_path: Path) -> None:
    with LiveEndpoint(tmp_path) as plain:
        with pytest.raises(HTTPError) as error:
            inject(plain, "throttled")
        assert error.value.code == 404
        assert "start it with --faults" in error.value.read().decode()
