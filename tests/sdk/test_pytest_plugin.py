"""The pytest plugin in a test session of its own."""

import os
import subprocess
import sys
from pathlib import Path

SESSION = """
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
"""


def test_a_session_gets_one_endpoint_for_all_its_tests(tmp_path: Path) -> None:
    (tmp_path / "test_session.py").write_text(SESSION)
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, env=surroundings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout
