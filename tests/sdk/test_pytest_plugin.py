"""The pytest plugin in test sessions of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SESSION = """
import boto3

def test_first(torpor_endpoint):
    torpor_endpoint.bucket_folder("models").joinpath("a.txt").write_text("hello")
    assert torpor_endpoint.client("s3").get_object(Bucket="models", Key="a.txt")["Body"].read() == b"hello"
    assert torpor_endpoint.client("sagemaker").list_endpoints()["Endpoints"] == []

def test_second(torpor_endpoint):
    assert torpor_endpoint.environment["AWS_ENDPOINT_URL"] == torpor_endpoint.url
    assert torpor_endpoint.client("s3").list_objects_v2(Bucket="models")["KeyCount"] == 1

def test_third(torpor_endpoint):
    sagemaker = torpor_endpoint.client("sagemaker")
    with torpor_endpoint.local(name="one") as one, torpor_endpoint.local(name="two", memory_mib=512) as two:
        assert one.url == two.url == torpor_endpoint.url
        assert {found["EndpointName"] for found in sagemaker.list_endpoints()["Endpoints"]} == {"one", "two"}
    assert sagemaker.list_endpoints()["Endpoints"] == []

def test_fourth(torpor_s3):
    torpor_s3.create_bucket(Bucket="of-one-test")
    torpor_s3.put_object(Bucket="of-one-test", Key="a", Body=b"1")

def test_fifth(torpor_s3, torpor_environment):
    assert [bucket["Name"] for bucket in boto3.client("s3").list_buckets()["Buckets"]] == ["models", "torpor-local"]
"""

BESIDE_MOTO = """
import boto3
from moto import mock_aws

def buckets(client):
    return [bucket["Name"] for bucket in client.list_buckets()["Buckets"]]

@mock_aws
def test_under_the_decorator(torpor_s3):
    mocked = boto3.client("s3", region_name="us-east-1")
    mocked.create_bucket(Bucket="in-moto")
    torpor_s3.create_bucket(Bucket="in-torpor")
    assert buckets(mocked) == ["in-moto"]
    assert buckets(torpor_s3) == ["in-torpor"]

def test_inside_the_block(torpor_endpoint):
    with mock_aws():
        boto3.resource("dynamodb", region_name="us-east-1").create_table(
            TableName="t", BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}],
        )
        with torpor_endpoint.local(name="beside") as endpoint:
            assert endpoint.client("sagemaker").list_endpoints()["Endpoints"][0]["EndpointName"] == "beside"
        assert boto3.client("dynamodb", region_name="us-east-1").list_tables()["TableNames"] == ["t"]

def test_after_it(torpor_s3):
    assert buckets(torpor_s3) == ["torpor-local"]
"""

OF_A_WORKER = """
import os, pytest

@pytest.mark.parametrize("turn", range(4))
def test_a_worker_has_its_own(torpor_endpoint, turn, request):
    folder = torpor_endpoint.bucket_folder("mine")
    folder.joinpath(os.environ["PYTEST_XDIST_WORKER"]).touch()
    assert [path.name for path in folder.iterdir()] == [os.environ["PYTEST_XDIST_WORKER"]]
    with open(os.environ["SEEN"], "a") as seen:
        seen.write(f"{torpor_endpoint.url}\\n")
"""

OF_TIME = """
from datetime import timedelta
from torpor.testing import assert_asleep, assert_awake

def test_it_travels(torpor_endpoint, torpor_clock):
    with torpor_endpoint.local(name="night", sleep_after_s=1200) as endpoint:
        assert_awake(endpoint)
        before = torpor_clock.now
        assert torpor_clock.advance(hours=2) - before >= timedelta(hours=2)
        assert_asleep(endpoint)
"""

OF_FAULTS = """
from torpor.testing import FaultSchedule

def test_it_is_throttled(torpor_endpoint, torpor_faults):
    torpor_endpoint.bucket_folder("models").joinpath("a.txt").write_text("hello")
    torpor_faults.inject(FaultSchedule.parse("skewed-clock times=100"))
    s3 = torpor_endpoint.client("s3")
    try:
        s3.get_object(Bucket="models", Key="a.txt")
        raise AssertionError("no fault struck")
    except s3.exceptions.ClientError as error:
        assert error.response["Error"]["Code"] == "RequestTimeTooSkewed"

def test_nothing_strikes_afterwards(torpor_endpoint):
    s3 = torpor_endpoint.client("s3")
    assert s3.get_object(Bucket="models", Key="a.txt")["Body"].read() == b"hello"
"""

ANEW = """
import boto3
import pytest
from torpor.testing import Start

@pytest.fixture(scope="session")
def torpor_start():
    return Start(region="eu-west-1", travelling_clock=True, warm_idle_s=59.0)

pytestmark = pytest.mark.usefixtures("torpor_reset")
seen = []

@pytest.mark.parametrize("turn", range(2))
def test_each_test_finds_nothing(torpor_environment, torpor_clock, turn):
    s3, sagemaker = boto3.client("s3"), boto3.client("sagemaker")
    assert s3.meta.region_name == torpor_environment.environment["AWS_DEFAULT_REGION"] == "eu-west-1"
    assert s3.list_buckets()["Buckets"] == []
    assert sagemaker.list_endpoints()["Endpoints"] == []
    seen.append(torpor_clock.now)
    assert seen == sorted(seen, reverse=turn > 0)  # the clock of the turn before was ahead
    torpor_clock.advance(hours=1)
    s3.create_bucket(Bucket="mine")
    seen[-1] = torpor_clock.now
    if not turn:
        torpor_environment.local(name="open")  # and nobody closes it
        assert sagemaker.list_endpoints()["Endpoints"]
"""

WITHOUT_ITS_FAULT = """
from torpor.testing import FaultSchedule

def test_it_proves_nothing(torpor_endpoint, torpor_faults):
    torpor_faults.inject(FaultSchedule.parse("failing-s3 model=first.txt"))
    torpor_faults.inject(FaultSchedule.parse("failing-s3 model=nothing.txt times=2"))
"""

BESIDE_DYNAMODB = """
import boto3
import pytest
from moto import mock_aws
from torpor.testing import Start

@pytest.fixture(scope="session")
def torpor_start():
    return Start(services={"DYNAMODB": "https://dynamodb.us-east-1.amazonaws.com"})

@mock_aws
def test_an_application_of_both(torpor_environment):
    boto3.client("s3").create_bucket(Bucket="in-torpor")
    boto3.client("dynamodb").create_table(
        TableName="in-moto", BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}],
    )
    assert boto3.client("dynamodb").list_tables()["TableNames"] == ["in-moto"]
    assert [one["Name"] for one in torpor_environment.client("s3").list_buckets()["Buckets"]] == ["in-torpor"]
"""


def session(tmp_path: Path, temporary: Path, tests: str, *options: str, **variables: str) -> str:
    """The output of a pytest session with these tests. It leaves nothing in its temporary folder."""
    (tmp_path / "test_session.py").write_text(tests)
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", *options, str(tmp_path)]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**surroundings, "TMPDIR": str(temporary), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert list(temporary.glob("torpor-*")) == []
    return done.stdout


@pytest.mark.thorough
def test_a_session_gets_one_endpoint_for_all_its_tests(tmp_path: Path, temporary: Path) -> None:
    assert "5 passed" in session(tmp_path, temporary, SESSION)


@pytest.mark.thorough
def test_it_works_beside_motos_decorators(tmp_path: Path, temporary: Path) -> None:
    assert "3 passed" in session(tmp_path, temporary, BESIDE_MOTO)


@pytest.mark.thorough
def test_each_worker_of_xdist_gets_an_endpoint_of_its_own(tmp_path: Path, temporary: Path) -> None:
    seen = tmp_path / "seen.txt"
    assert "4 passed" in session(tmp_path, temporary, OF_A_WORKER, "-n", "2", "--dist=load", SEEN=str(seen))
    assert len(set(seen.read_text().split())) == 2


@pytest.mark.thorough
def test_with_a_projects_own_options_each_test_finds_nothing_of_those_before(tmp_path: Path, temporary: Path) -> None:
    assert "2 passed" in session(tmp_path, temporary, ANEW)


def test_a_fault_that_never_struck_is_a_warning(tmp_path: Path, temporary: Path) -> None:
    output = session(tmp_path, temporary, WITHOUT_ITS_FAULT, "-W", "default")
    assert "1 passed, 1 warning" in output
    lines = "failing-s3 model=first.txt; failing-s3 model=nothing.txt times=2"
    assert f"NeverStruck: injected faults never struck: {lines}" in output


@pytest.mark.thorough
def test_an_application_calls_other_services_elsewhere(tmp_path: Path, temporary: Path) -> None:
    assert "1 passed" in session(tmp_path, temporary, BESIDE_DYNAMODB)


@pytest.mark.thorough
def test_a_test_moves_the_clock(tmp_path: Path, temporary: Path) -> None:
    assert "1 passed" in session(tmp_path, temporary, OF_TIME)


@pytest.mark.thorough
def test_faults_strike_in_the_test_that_asks_for_them(tmp_path: Path, temporary: Path) -> None:
    assert "2 passed" in session(tmp_path, temporary, OF_FAULTS)
