"""The headers that InvokeEndpointAsync knows, held against botocore's service model, and what makes a request."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_account.aws.service_models import Shape, service_model
from torpor_endpoint.core.async_inference.requests import AsyncRequest
from torpor_endpoint.core.resource_records import AsyncInference
from torpor_endpoint.runtime.asynchronous.async_request import (
    BODY_MAX_BYTES,
    MEMBERS_OF_INVOKE,
    NUMBERS,
    OWN_MEMBERS,
    AsyncParameters,
    parse_async,
)
from torpor_endpoint.runtime.errors import RuntimeFault, Situation
from torpor_endpoint.runtime.request import MEMBERS

INPUT = service_model("sagemaker-runtime").operation_model("InvokeEndpointAsync").input_shape.members
MODELLED: dict[bytes, tuple[str, Shape]] = {
    shape.serialization["name"].lower().encode(): (name, shape)
    for name, shape in INPUT.items()
    if shape.serialization.get("location") == "header"
}
CONFIG = AsyncInference("s3://bucket/out", "s3://bucket/failed")
LOCATION = (b"x-amzn-sagemaker-inputlocation", b"s3://bucket/in.csv")


def call(*headers: tuple[bytes, bytes], body: bytes = b"") -> AsyncRequest:
    scope = {"headers": list(headers)}
    read = AsyncParameters.read(scope, len(body))
    return read.request("id", parse_async(scope), CONFIG, "e", "v", None, body, 1000.0)


def refused(*headers: tuple[bytes, bytes], body: bytes = b"") -> str:
    with pytest.raises(RuntimeFault) as caught:
        call(*headers, body=body)
    assert caught.value.situation is Situation.PARAMETER
    return str(caught.value.fields["detail"])


def test_every_header_of_the_service_model_is_known_and_no_other() -> None:
    shared = set(MODELLED) & set(MEMBERS)
    assert set(MODELLED) == {*OWN_MEMBERS, *NUMBERS, *MEMBERS_OF_INVOKE, *shared}


@pytest.mark.parametrize("header", OWN_MEMBERS)
def test_a_text_has_the_constraints_of_the_service_model(header: bytes) -> None:
    known, (name, shape) = OWN_MEMBERS[header], MODELLED[header]
    metadata = shape.metadata
    assert (known.name, known.shortest, known.longest) == (name, metadata.get("min", 0), metadata["max"])
    assert known.pattern == metadata["pattern"]


@pytest.mark.parametrize("header", NUMBERS)
def test_a_number_has_the_range_of_the_service_model(header: bytes) -> None:
    name, shape = MODELLED[header]
    assert NUMBERS[header] == (name, shape.metadata["min"], shape.metadata["max"])


def test_an_inline_body_has_the_limit_of_the_service_model() -> None:
    assert INPUT["Body"].metadata["max"] == BODY_MAX_BYTES


@given(st.sampled_from(list(OWN_MEMBERS)), st.text("aZ9-_./s3:htp!é ", min_size=1, max_size=8))
def test_a_text_is_taken_exactly_if_it_has_the_pattern(header: bytes, text: str) -> None:
    known = OWN_MEMBERS[header]
    assert known.fits is not None
    assert bool(known.fits(text.encode())) == bool(re.fullmatch(known.pattern, text))


def test_the_container_gets_the_members_content_type_and_accept() -> None:
    headers = [
        (b"content-type", b"application/octet-stream"),
        (b"x-amzn-sagemaker-content-type", b"text/csv"),
        (b"x-amzn-sagemaker-accept", b"application/json"),
    ]
    made = call(*headers, LOCATION)
    assert (made.headers["content-type"], made.headers["accept"]) == ("text/csv", "application/json")
    assert (made.input, made.body) == ("s3://bucket/in.csv", None)


@pytest.mark.parametrize(
    ("headers", "output", "failure"),
    [
        ({}, "s3://bucket/out/id.out", "s3://bucket/failed/id-error.out"),
        ({b"filename": b"a.json"}, "s3://bucket/out/a.json", "s3://bucket/failed/a.json-error.out"),
        ({b"s3outputpathextension": b"x/y/"}, "s3://bucket/out/x/y/id.out", "s3://bucket/failed/x/y/id-error.out"),
        (
            {b"s3outputpathextension": b"x", b"filename": b"a"},
            "s3://bucket/out/x/a",
            "s3://bucket/failed/x/a-error.out",
        ),
    ],
)
def test_results_are_named_as_the_caller_asks(headers: dict[bytes, bytes], output: str, failure: str) -> None:
    made = call(*((b"x-amzn-sagemaker-" + name, value) for name, value in headers.items()), body=b"1")
    assert (made.output, made.failure, made.body) == (output, failure, b"1")


def test_a_request_has_exactly_one_input() -> None:
    assert "and has neither" in refused()
    assert "and has both" in refused(LOCATION, body=b"1")


@pytest.mark.parametrize(
    ("location", "why"),
    [
        (b"https://example.com/x", "it must begin with s3://bucket/"),
        (b"s3://bucket", "names a bucket, and no object in it"),
        (b"s3://bucket/../x", "'.' or '..' segment"),
        (b"ftp://x", "'inputLocation' failed to satisfy constraint"),
    ],
)
def test_an_input_must_be_an_object_in_s3(location: bytes, why: str) -> None:
    assert why in refused((LOCATION[0], location))


def test_an_input_may_have_an_https_address_of_s3() -> None:
    made = call((LOCATION[0], b"https://bucket.s3.us-east-1.amazonaws.com/a%20b.csv"))
    assert made.input == "s3://bucket/a b.csv"


@pytest.mark.parametrize(
    ("value", "why"),
    [(b"59", "greater than or equal to 60"), (b"21601", "21600"), (b"x", "60"), (b"9" * 5000, "21600")],
)
def test_times_outside_their_range_are_refused(value: bytes, why: str) -> None:
    message = refused((b"x-amzn-sagemaker-requestttlseconds", value), body=b"1")
    assert "'requestTTLSeconds'" in message
    assert why in message


def test_times_are_seconds_from_the_arrival() -> None:
    made = call(
        (b"x-amzn-sagemaker-requestttlseconds", b"60"),
        (b"x-amzn-sagemaker-invocationtimeoutseconds", b"5"),
        body=b"1",
    )
    assert (made.received_s, made.expires_s, made.timeout_s) == (1000.0, 1060.0, 5.0)


def test_results_cannot_leave_their_prefix() -> None:
    assert "'..' segment" in refused((b"x-amzn-sagemaker-s3outputpathextension", b"a/../../x"), body=b"1")
