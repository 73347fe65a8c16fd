"""The headers by which a container learns which adapter of its model a request wants. Pure.

Source: AWS's model-hosting-container-standards, and vLLM's and DJL's servers: a request for an adapter has the header
`X-Amzn-SageMaker-Adapter-Identifier`, and the adapter was registered under that name before, by `POST /adapters`.
"""

from torpor_container import wire
from torpor_endpoint.core.resource_records import CopyNeeds

INFERENCE_COMPONENT = b"x-amzn-sagemaker-inference-component"
ADAPTER, ADAPTER_URL = (name.lower().encode() for name in (wire.ADAPTER, wire.ADAPTER_URL))


def with_adapter(headers: dict[bytes, bytes], copies: CopyNeeds) -> dict[bytes, bytes]:
    """A request's headers, with those of the adapter that it names as its inference component. The second one is for
    the instance alone, which fetches the adapter from there and registers it."""
    name = headers.get(INFERENCE_COMPONENT, b"")
    url = dict(copies.adapters).get(name.decode())
    return headers if url is None else {**headers, ADAPTER: name, ADAPTER_URL: url.encode()}
