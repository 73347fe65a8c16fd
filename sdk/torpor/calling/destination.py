"""Where calls go and with which credentials, found as botocore finds them for its own clients. It sends no call."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from botocore.credentials import Credentials
from botocore.exceptions import NoCredentialsError, NoRegionError
from botocore.httpsession import get_cert_path
from botocore.utils import get_environ_proxies

from torpor.calling.connection_pool import ServerAddress
from torpor.calling.defaults import KEY, REGION

SERVICE = "sagemaker-runtime"


@dataclass(frozen=True)
class Destination:
    """A runtime API. `credentials` refresh themselves when they are frozen; `service_model` is botocore's."""

    url: str
    region: str
    credentials: Any
    service_model: Any
    ca_bundle: str | None = None
    proxied: bool = True
    """Whether the environment's proxy is used for https."""

    @classmethod
    def found(
        cls, endpoint_url: str | None, region: str | None, session: Any, *, proxied: bool = True
    ) -> "Destination":
        """Raises botocore's NoRegionError and NoCredentialsError; a Torpor endpoint, by http, needs neither."""
        region = region or session.get_config_variable("region")
        # With these keys botocore does not look for others; if there are none, it would ask the machine's metadata
        # twice.
        keys = {"aws_access_key_id": KEY, "aws_secret_access_key": KEY}
        client = session.create_client(SERVICE, region_name=region or REGION, endpoint_url=endpoint_url, **keys)
        client.close()
        url = client.meta.endpoint_url
        if region is None and not _is_own(url):
            raise NoRegionError
        credentials = session.get_credentials() or (Credentials(KEY, KEY) if _is_own(url) else None)
        if credentials is None:
            raise NoCredentialsError
        ca_bundle = session.get_config_variable("ca_bundle")
        return cls(url, client.meta.region_name, credentials, client.meta.service_model, ca_bundle, proxied)

    @property
    def address(self) -> ServerAddress:
        """The server's address, with the environment's proxy; a Torpor endpoint is reached directly."""
        if _is_own(self.url):
            return ServerAddress(self.url)
        proxy = get_environ_proxies(self.url).get("https") if self.proxied else None
        return ServerAddress(self.url, self.ca_bundle or get_cert_path(True), proxy)

    @property
    def host(self) -> str:
        """The `Host` header, with the port unless it is the scheme's default."""
        parts = urlsplit(self.url)
        host = parts.hostname or ""
        name = f"[{host}]" if ":" in host else host
        usual = {"http": 80, "https": 443}[parts.scheme]
        return name if parts.port in (None, usual) else f"{name}:{parts.port}"

    @property
    def prefix(self) -> str:
        """The URL's path, which precedes every request's path."""
        return urlsplit(self.url).path.rstrip("/")


def _is_own(url: str) -> bool:
    """Whether the URL is a Torpor endpoint's: AWS has https only."""
    return url.startswith("http://")
