"""What a container is told of the adapter that a request names."""

from torpor_endpoint.core.resource_records import CopyNeeds
from torpor_endpoint.core.sending.adapter_headers import ADAPTER, ADAPTER_URL, INFERENCE_COMPONENT, with_adapter
from torpor_endpoint.core.sending.machine import PASSED_ON
from torpor_endpoint.runtime.request import MEMBERS

COPIES = CopyNeeds("base", "v", 1024, adapters=(("lora", "s3://b/lora.tar.gz"),))


def test_a_request_for_an_adapter_names_it_and_where_it_is() -> None:
    headers = {INFERENCE_COMPONENT: b"lora", b"accept": b"text/csv"}
    assert with_adapter(headers, COPIES) == {**headers, ADAPTER: b"lora", ADAPTER_URL: b"s3://b/lora.tar.gz"}
    base = {INFERENCE_COMPONENT: b"base"}
    assert with_adapter(base, COPIES) is base
    assert with_adapter({INFERENCE_COMPONENT: b"deleted"}, COPIES) is None


def test_no_caller_says_from_where_an_adapter_comes() -> None:
    assert {ADAPTER, ADAPTER_URL} <= PASSED_ON
    assert MEMBERS.keys().isdisjoint({ADAPTER, ADAPTER_URL})
