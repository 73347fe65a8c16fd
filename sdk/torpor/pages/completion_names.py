"""The names of endpoints and models, read fast enough for a shell's completion: by plain HTTP, without boto3."""

from collections.abc import Collection, Iterator
from difflib import get_close_matches
from urllib.parse import quote, urlencode
from xml.etree import ElementTree

from torpor.calling.connection import EndpointConnection
from torpor.errors import EndpointRefused, EndpointUnreachable
from torpor_endpoint.core.pages import PageName
from torpor_endpoint.core.pages.state import ENDPOINTS_MAX, EndpointState, read_endpoints

SHOWN = 5
"""How many names an error lists."""
LISTED_MAX = 1000
"""How many objects of a prefix are looked at."""
SCHEME = "s3://"


def in_service(connection: EndpointConnection, timeout_s: float = 10.0) -> list[str]:
    """The endpoints in service, sorted. Raises EndpointUnreachable, EndpointRefused."""
    return sorted(endpoint.name for endpoint in _states(connection, timeout_s))


def model_names(connection: EndpointConnection, endpoint: str | None = None, timeout_s: float = 10.0) -> list[str]:
    """The models of this endpoint, or of all in service: those below their S3 prefixes, those in memory, and groups.
    Sorted.

    Of an artifact in another S3 than the endpoint's own, only what is in memory is known. Raises EndpointUnreachable,
    EndpointRefused.
    """
    found = [one for one in _states(connection, timeout_s) if endpoint in (None, one.name)]
    prefixes = dict.fromkeys(variant.model_data_url for one in found for variant in one.variants)
    stored = (name for url in prefixes if url for name in _below(connection, url, timeout_s))
    many = (variant for one in found for variant in one.variants if variant.model_data_url)
    resident = (model.name for variant in many for instance in variant.instances for model in instance.models)
    groups = (group.name for one in found for variant in one.variants for group in variant.groups)
    return sorted({*stored, *resident, *groups})


def near(name: str, known: Collection[str]) -> str:
    """The nearest of the known names, or the first ones: `a, b and 12 more`."""
    close = get_close_matches(name, known, SHOWN, 0.4)
    shown = close or sorted(known)[:SHOWN]
    more = len(known) - len(shown)
    return f"{', '.join(shown)}{f' and {more:,} more' if more else ''}"


def _states(connection: EndpointConnection, timeout_s: float) -> list[EndpointState]:
    return read_endpoints(connection.json_page(PageName.ENDPOINTS, {"limit": str(ENDPOINTS_MAX)}, timeout_s=timeout_s))


def _below(connection: EndpointConnection, url: str, timeout_s: float) -> Iterator[str]:
    """The keys below a prefix, by one request of ListObjectsV2; none if the endpoint has no such bucket."""
    bucket, _, prefix = url.removeprefix(SCHEME).partition("/")
    prefix = f"{prefix.rstrip('/')}/" if prefix.strip("/") else ""
    query = urlencode({"list-type": "2", "prefix": prefix, "max-keys": LISTED_MAX})
    try:
        answer = connection.get(f"/{quote(bucket)}?{query}", timeout_s)
    except (EndpointRefused, EndpointUnreachable):
        return
    for key in ElementTree.fromstring(answer).iterfind("{*}Contents/{*}Key"):
        if key.text and not key.text.endswith("/"):
            yield key.text.removeprefix(prefix)
