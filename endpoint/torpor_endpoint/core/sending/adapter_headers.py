"""The headers by which a container learns which adapter of its model a request wants. Pure.

Source: AWS's model-hosting-container-standards, and vLLM's and DJL's servers: a request for an adapter has the header
`X-Amzn-SageMaker-Adapter-Identifier`, and the adapter was registered under that name before, by `POST /adapters`.
"""

from torpor_container import wire
from torpor_endpoint.core.resource_records import CopyNeeds

INFERENCE_COMPONENT = b"x-amzn-sagemaker-inference-component"
ADAPTER, ADAPTER_URL = (name.lower().encode() for name in (wire.ADAPTER, wire.ADAPTER_URL))


def with_adapter(headers: dict[bytes, bytes], copies: CopyNeeds) -> dict[bytes, bytes] | None:
    """A request's headers, with those of the adapter that it names as its inference component. The second one is for
    the instance alone, which fetches the adapter from there and registers it. None if these copies serve no component
    of that name: its adapter was deleted while the request waited."""
    name = headers.get(INFERENCE_COMPONENT, b"")
    if not name or name.decode() == copies.component:
        return headers
    url = dict(copies.adapters).get(name.decode())
    return None if url is None else {**headers, ADAPTER: name, ADAPTER_URL: url.encode()}
