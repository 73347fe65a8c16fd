import struct
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import pytest
from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.serialize import create_serializer
from hypothesis import given
from hypothesis import strategies as st

from tests.account.aws.helpers.refusals import outcome
from torpor_account.aws.errors import AwsError
from torpor_account.aws.wire.asgi import AwsRequest
from torpor_account.aws.wire.cbor import Cbor
from torpor_account.aws.wire.json_rpc import JsonRpc
from torpor_account.aws.wire.protocols import protocol_of
from torpor_account.aws.wire.query import Query

PROTOCOLS = ["json", "query", "smithy-rpc-v2-cbor"]
FORM = {"content-type": "application/x-www-form-urlencoded"}


@pytest.fixture(scope="module")
def cloudwatch() -> ServiceModel:
    return ServiceModel(Loader().load_service_model("cloudwatch", "service-2"), "cloudwatch")


def sent(service: ServiceModel, operation: str, params: dict[str, Any], protocol: str) -> AwsRequest:
    """The request as botocore writes it."""
    serialized = create_serializer(protocol, False).serialize_to_request(params, service.operation_model(operation))
    body = serialized["body"]
    encoded = urlencode(body).encode() if isinstance(body, dict) else body
    headers = {name.lower(): value for name, value in serialized["headers"].items()}
    return AwsRequest("POST", serialized["url_path"], headers, "", encoded)


words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
numbers = st.floats(allow_nan=False, allow_infinity=False)
data = st.fixed_dictionaries(
    {"MetricName": words},
    optional={
        "Dimensions": st.lists(st.fixed_dictionaries({"Name": words, "Value": words}), min_size=1, max_size=3),
        "Timestamp": st.integers(0, 4_000_000_000).map(lambda s: datetime.fromtimestamp(s, UTC)),
        "Values": st.lists(numbers, min_size=1, max_size=12),
        "StorageResolution": st.integers(1, 60),
    },
)
puts = st.fixed_dictionaries(
    {"Namespace": words, "MetricData": st.lists(data, min_size=1, max_size=3)},
    optional={
        "StrictEntityValidation": st.booleans(),
        "EntityMetricData": st.lists(
            st.fixed_dictionaries(
                {"Entity": st.fixed_dictionaries({"Attributes": st.dictionaries(words, words, min_size=1)})}
            ),
            min_size=1,
            max_size=2,
        ),
    },
)


@given(puts)
def test_all_protocols_read_what_botocore_writes_to_the_same_parameters(
    cloudwatch: ServiceModel, params: dict[str, Any]
) -> None:
    shape = cloudwatch.operation_model("PutMetricData").input_shape
    requests = [sent(cloudwatch, "PutMetricData", params, protocol) for protocol in PROTOCOLS]
    read = [protocol_of(request).params(request, shape) for request in requests]
    expected = [
        {**datum, "Timestamp": datum["Timestamp"].timestamp()} if "Timestamp" in datum else datum
        for datum in params["MetricData"]
    ]
    assert read[0] == read[1] == read[2] == {**params, "MetricData": expected}


@pytest.mark.parametrize(("protocol", "kind"), [("json", JsonRpc), ("query", Query), ("smithy-rpc-v2-cbor", Cbor)])
def test_a_request_carries_its_protocol_and_operation(cloudwatch: ServiceModel, protocol: str, kind: type) -> None:
    request = sent(cloudwatch, "ListMetrics", {}, protocol)
    assert isinstance(protocol_of(request), kind)
    assert protocol_of(request).operation(request) == "ListMetrics"


@given(st.binary(max_size=60), st.sampled_from([Query(), JsonRpc("application/x-amz-json-1.0"), Cbor()]))
def test_bytes_that_are_no_request_are_refused_and_nothing_worse(
    cloudwatch: ServiceModel, body: bytes, protocol: Query | JsonRpc | Cbor
) -> None:
    request, shape = AwsRequest("POST", "/", FORM, "", body), cloudwatch.operation_model("GetMetricData").input_shape
    found = outcome(lambda: protocol.params(request, shape))
    assert found.senders_fault if isinstance(found, AwsError) else found.keys() <= shape.members.keys()


@pytest.mark.parametrize("seconds", [1e300, float("inf"), -1e15])
def test_a_time_that_no_calendar_has_is_refused_in_cbor_too(cloudwatch: ServiceModel, seconds: float) -> None:
    body = b"\xa1\x69StartDate\xc1\xfb" + struct.pack(">d", seconds)
    with pytest.raises(AwsError, match="Serialization"):
        Cbor().params(
            AwsRequest("POST", "/", {}, "", body), cloudwatch.operation_model("DescribeAlarmHistory").input_shape
        )


@pytest.mark.parametrize("sign", ["", "-"])
def test_a_whole_number_beyond_every_double_is_infinite(cloudwatch: ServiceModel, sign: str) -> None:
    shape = cloudwatch.operation_model("PutMetricData").input_shape
    body = b'{"Namespace": "x", "MetricData": [{"MetricName": "m", "Value": %b1%b}]}' % (sign.encode(), b"0" * 400)
    datum = JsonRpc("application/x-amz-json-1.0").params(AwsRequest("POST", "/", {}, "", body), shape)["MetricData"][0]
    assert datum["Value"] == float(f"{sign}inf")


@pytest.mark.parametrize(
    "field",
    [
        "Period=ten",
        "Period=6_0",
        "Period=%D9%A1",
        "Period=99999999999",
        "StartTime=yesterday",
        "StartTime=%D9%A1",
        "StartTime=99999999999999999999",
    ],
)
def test_a_form_field_of_the_wrong_type_is_malformed_input(cloudwatch: ServiceModel, field: str) -> None:
    request = AwsRequest("POST", "/", FORM, "", f"Action=GetMetricStatistics&{field}".encode())
    with pytest.raises(AwsError, match="MalformedInput"):
        Query().params(request, cloudwatch.operation_model("GetMetricStatistics").input_shape)


def test_a_query_call_may_come_as_a_get(cloudwatch: ServiceModel) -> None:
    request = AwsRequest("GET", "/", {}, "Action=ListMetrics&Namespace=a%2Fb&Version=2010-08-01")
    assert protocol_of(request).operation(request) == "ListMetrics"
    assert Query().params(request, cloudwatch.operation_model("ListMetrics").input_shape) == {"Namespace": "a/b"}


def test_list_items_are_taken_in_the_order_of_their_numbers(cloudwatch: ServiceModel) -> None:
    fields = "&".join(f"Statistics.member.{number}=s{number}" for number in (10, 2, 1))
    request = AwsRequest("POST", "/", FORM, "", fields.encode())
    params = Query().params(request, cloudwatch.operation_model("GetMetricStatistics").input_shape)
    assert params == {"Statistics": ["s1", "s2", "s10"]}
