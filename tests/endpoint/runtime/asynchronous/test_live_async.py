"""Asynchronous inference behind the one port, by boto3: results, failures, notifications, metrics and refusals."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import put, script
from tests.helpers.waiting import until
from torpor.calling.connection import EndpointConnection
from torpor.pages.async_requests import requests
from torpor_endpoint.core.pages.async_requests import AsyncRequestRow

ECHO = """
def model_fn(folder):
    return None

def transform_fn(model, body, content_type, accept):
    text = body if isinstance(body, str) else body.decode()
    if text == "bad":
        raise ValueError("no such house")
    return text.upper(), "text/csv"
"""
TYPED = """
def model_fn(folder):
    return None

def transform_fn(model, body, content_type, accept):
    return content_type, "text/plain"
"""
SLOW = """
import time

def model_fn(folder):
    return None

def transform_fn(model, body, content_type, accept):
    time.sleep(0.1)
    return "slept", "text/csv"
"""
TARGET = "X-Amzn-SageMaker-Target-Model"


class Topic:
    """A topic whose messages come to a queue."""

    def __init__(self, live: LiveEndpoint, name: str) -> None:
        self.messages: list[dict[str, Any]] = []
        self._sqs = live.client("sqs")
        self._queue = self._sqs.create_queue(QueueName=name)["QueueUrl"]
        queue_arn = self._sqs.get_queue_attributes(QueueUrl=self._queue, AttributeNames=["QueueArn"])["Attributes"]
        sns = live.client("sns")
        self.arn = sns.create_topic(Name=name)["TopicArn"]
        sns.subscribe(TopicArn=self.arn, Protocol="sqs", Endpoint=queue_arn["QueueArn"])

    def about(self, inference_id: str) -> dict[str, Any]:
        """The message about a request, once it is there."""

        def found() -> Any:
            got = self._sqs.receive_message(QueueUrl=self._queue, MaxNumberOfMessages=10).get("Messages", ())
            self.messages += [json.loads(json.loads(message["Body"])["Message"]) for message in got]
            return next((one for one in self.messages if one.get("inferenceId") == inference_id), None)

        message: dict[str, Any] = until(found, look_s=0.05)
        return message


@pytest.fixture(scope="module")
def topic(live: LiveEndpoint) -> Topic:
    return Topic(live, "async-ends")


@pytest.fixture(scope="module")
def waiting(live: LiveEndpoint, topic: Topic) -> str:
    put(live.folder("async"), {"models/echo.tar.gz": script(ECHO), "models/slow.tar.gz": script(SLOW)})
    put(live.folder("async"), {"models/typed.tar.gz": script(TYPED)})
    notified = {
        "SuccessTopic": topic.arn,
        "ErrorTopic": topic.arn,
        "IncludeInferenceResponseIn": ["SUCCESS_NOTIFICATION_TOPIC"],
    }
    output = {"S3OutputPath": "s3://async/out", "S3FailurePath": "s3://async/failed", "NotificationConfig": notified}
    return live.deploy(
        "AskedLater",
        Variant(many("async/models")),
        AsyncInferenceConfig={"OutputConfig": output, "ClientConfig": {"MaxConcurrentInvocationsPerInstance": 2}},
    )


def ask(live: LiveEndpoint, endpoint: str, model: str = "echo.tar.gz", **members: Any) -> dict[str, Any]:
    runtime = live.client("sagemaker-runtime")
    runtime.meta.events.register(
        "before-call.sagemaker-runtime.InvokeEndpointAsync",
        lambda params, **_: params["headers"].update({TARGET: model}),
    )
    named = {"ContentType": "text/csv", **members}
    given = {member: value for member, value in named.items() if value is not None}
    answer: dict[str, Any] = runtime.invoke_endpoint_async(EndpointName=endpoint, **given)
    return answer


def test_the_result_of_an_object_is_an_object(live: LiveEndpoint, waiting: str, topic: Topic) -> None:
    put(live.folder("async"), {"in/house.csv": b"small house"})
    answer = ask(live, waiting, InputLocation="s3://async/in/house.csv", InferenceId="house-1")
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 202
    assert answer["InferenceId"] == "house-1"
    assert answer["OutputLocation"].startswith("s3://async/out/")
    bucket, _, key = answer["OutputLocation"].removeprefix("s3://").partition("/")
    s3 = live.client("s3")
    s3.get_waiter("object_exists").wait(Bucket=bucket, Key=key, WaiterConfig={"Delay": 1})
    found = s3.get_object(Bucket=bucket, Key=key)
    assert (found["Body"].read(), found["ContentType"]) == (b"SMALL HOUSE", "text/csv")
    message = topic.about("house-1")
    assert message["invocationStatus"] == "Completed"
    assert message["responseParameters"] == {"contentType": "text/csv", "outputLocation": answer["OutputLocation"]}
    assert {"eventName": "TestNotification", "eventVersion": "1.0", "eventSource": "aws:sagemaker"} in topic.messages


@pytest.mark.parametrize(
    ("stored", "called", "seen"),
    [
        ("text/libsvm", None, b"text/libsvm"),
        ("application/json; charset=utf-8", None, b"application/json; charset=utf-8"),
        ("application/json", "text/csv", b"text/csv"),
        ("binary/octet-stream", None, b"text/csv"),
        (None, None, b"text/csv"),
    ],
    ids=["the object's", "with a parameter", "the call's goes before", "S3's own is none", "neither"],
)
def test_the_input_object_gives_the_type_that_the_call_does_not_name(
    live: LiveEndpoint, waiting: str, stored: str | None, called: str | None, seen: bytes
) -> None:
    s3, typed = live.client("s3"), {"ContentType": stored} if stored else {}
    s3.put_object(Bucket="async", Key="in/typed", Body=b"1", **typed)
    answer = ask(live, waiting, "typed.tar.gz", InputLocation="s3://async/in/typed", ContentType=called)
    assert ended(live, answer["InferenceId"]).state == "Completed"
    bucket, _, key = answer["OutputLocation"].removeprefix("s3://").partition("/")
    assert s3.get_object(Bucket=bucket, Key=key)["Body"].read() == seen


def test_what_the_model_refuses_has_a_failure_object(live: LiveEndpoint, waiting: str, topic: Topic) -> None:
    answer = ask(live, waiting, Body=b"bad", InferenceId="house-2")
    message = topic.about("house-2")
    assert message["invocationStatus"] == "Failed"
    assert message["failureReason"].startswith("ClientError: Received server error (500) from model.")
    bucket, _, key = answer["FailureLocation"].removeprefix("s3://").partition("/")
    assert b"no such house" in live.client("s3").get_object(Bucket=bucket, Key=key)["Body"].read()


def ended(live: LiveEndpoint, inference_id: str) -> AsyncRequestRow:
    def found() -> AsyncRequestRow | None:
        [one] = requests(EndpointConnection(live.url), id=inference_id)
        return one if one.over else None

    one = until(found, look_s=0.05)
    assert one is not None
    return one


def test_an_input_that_is_not_there_fails_its_request_alone(live: LiveEndpoint, waiting: str) -> None:
    ask(live, waiting, InputLocation="s3://async/in/nobody.csv", InferenceId="nobody")
    ask(live, waiting, InputLocation="s3://no-such-bucket/x.csv", InferenceId="nowhere")
    ask(live, waiting, Body=b"fine", InferenceId="fine")
    assert "s3://async/in/nobody.csv" in ended(live, "nobody").reason
    assert "s3://no-such-bucket/x.csv" in ended(live, "nowhere").reason
    assert ended(live, "fine").state == "Completed"


def test_without_a_bucket_for_the_result_no_model_is_called(live: LiveEndpoint, waiting: str) -> None:
    output = {"OutputConfig": {"S3OutputPath": "s3://no-such-bucket/out"}}
    live.deploy("Bucketless", Variant(many("async/models")), AsyncInferenceConfig=output)
    ask(live, "Bucketless", Body=b"1", InferenceId="lost")
    one = ended(live, "lost")
    assert (one.state, "no-such-bucket" in one.reason) == ("Failed", True)
    assert live.shown("Bucketless")[0]["instances"][0]["containers"][0]["models"] == []


def test_each_instance_has_no_more_than_it_may(live: LiveEndpoint, waiting: str) -> None:
    for number in range(6):
        ask(live, waiting, model="slow.tar.gz", Body=b"1", InferenceId=f"slow-{number}")
    running = until(lambda: requests(EndpointConnection(live.url), waiting, state="Running"), look_s=0.02)
    assert len(running) <= 2
    assert all(ended(live, f"slow-{number}").state == "Completed" for number in range(6))


def test_a_synchronous_call_is_refused(live: LiveEndpoint, waiting: str) -> None:
    with pytest.raises(ClientError, match="call it with InvokeEndpointAsync"):
        live.invoke(waiting, b"1", TargetModel="echo.tar.gz")
