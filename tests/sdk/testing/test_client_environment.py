"""The variables that lead an unmodified application to an endpoint."""

import os

import boto3
import pytest
from boto3.session import Session

from torpor.testing.client_environment import lead_here

HERE = {"AWS_ENDPOINT_URL": "http://127.0.0.1:4700", "AWS_DEFAULT_REGION": "us-east-1", "NO_PROXY": "127.0.0.1"}


def test_no_variable_of_the_shell_leads_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", Session(region_name="eu-west-1"))
    monkeypatch.setenv("AWS_PROFILE", "work")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "https://s3.example.com")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "https://example.com")
    with lead_here(HERE):
        present = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
        assert present == {name: value for name, value in HERE.items() if name.startswith("AWS_")}
        assert boto3.client("s3").meta.endpoint_url == HERE["AWS_ENDPOINT_URL"]
    assert os.environ["AWS_PROFILE"] == "work"
    assert boto3.DEFAULT_SESSION.region_name == "eu-west-1"
