"""How to reach an endpoint: boto3 clients, environment variables, and the endpoint's own pages."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from http.client import HTTPException
from ipaddress import ip_address
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPSHandler, ProxyHandler, Request, build_opener

from torpor.calling.caller_keys import CA_BUNDLE, FORM, OWN, UNVERIFIED, AccessKeys, of_environment, signed_headers
from torpor.calling.defaults import ANSWER_WITHIN_S, REGION, SCHEMES, URL, URL_VARIABLE
from torpor.errors import EndpointRefused, EndpointUnreachable, NotTorpor, ValueRefused
from torpor_endpoint.core.pages import Json, PageName

if TYPE_CHECKING:
    from torpor.calling.caller import Caller


@dataclass(frozen=True)
class EndpointConnection:
    """One endpoint process, by its URL."""

    url: str = URL
    region: str = REGION
    keys: AccessKeys = UNVERIFIED
    verified: bool = False
    """Whether the endpoint verifies its callers, as far as it was asked (`identified`)."""
    is_router: bool = False
    """Whether it is a router, which answers invocations alone, as far as it was asked."""
    services: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The URLs of services that are called elsewhere, by the ends of their variables: `S3` of
    `AWS_ENDPOINT_URL_S3`."""
    ca_bundle: str | None = None
    """The file with the certificates by which an https URL is trusted; None: by those that boto3 trusts anyway."""

    @classmethod
    def configured(cls, url: str | None = None) -> "EndpointConnection":
        """The connection to this URL, for all services; else to `AWS_ENDPOINT_URL`, or to the port of `torpor up`, and
        for the services that have a variable of their own to the URLs of these. Raises ValueRefused."""
        found = _checked(url or os.environ.get(URL_VARIABLE) or URL)
        services = {} if url else urls_of_services(os.environ)
        keys = of_environment(os.environ) or UNVERIFIED
        region, bundle = os.environ.get("AWS_DEFAULT_REGION", REGION), os.environ.get(CA_BUNDLE) or None
        return cls(found, region, keys, services=services, ca_bundle=bundle if found.startswith("https") else None)

    def identified(self) -> "EndpointConnection":
        """The connection with the endpoint's own region. Raises EndpointUnreachable, NotTorpor."""
        try:
            health = self.json_page(PageName.HEALTH)
            router = health.get("role") == "router"
            return replace(self, region=health["region"], verified=health.get("auth") == "on", is_router=router)
        except EndpointRefused as refused:
            raise NotTorpor(self.url, str(refused)) from refused
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise NotTorpor(self.url) from error

    def control(self) -> str | None:
        """The URL of the control that a router follows; None if it does not say."""
        try:
            return str(self.json_page("router")["control"])
        except (EndpointRefused, EndpointUnreachable, ValueError, TypeError, KeyError):
            return None

    @property
    def environment(self) -> dict[str, str]:
        """The variables that boto3, the AWS CLI and the SageMaker SDK read. A URL of this machine bypasses any
        proxy."""
        return {
            URL_VARIABLE: self.url,
            **{f"{URL_VARIABLE}_{name}": url for name, url in self.services.items()},
            **self.keys.variables,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_REGION": self.region,  # the SDK for JavaScript reads this one
            **({} if self.ca_bundle is None else {CA_BUNDLE: self.ca_bundle}),
            **without_proxy(self.url, os.environ),
        }

    def client(self, service: str, **options: Any) -> Any:
        """A boto3 client of this service. `options` are those of `boto3.client`, and take precedence."""
        url = self.url_of(service)
        if url == self.url:
            session, config = self._session, self._config
            trust = {} if self.ca_bundle is None else {"verify": self.ca_bundle}
        else:
            session, config, trust = self._session_elsewhere, self._config_elsewhere, {}
        return session.client(service, **{"endpoint_url": url, "config": config, **trust, **options})

    def url_of(self, service: str) -> str:
        """Where boto3's service of this name is called."""
        if not self.services:
            return self.url
        name: str = self._core.get_service_model(service).service_id
        return self.services.get(name.replace(" ", "_").upper(), self.url)

    def caller(self, **options: Any) -> "Caller":
        """A `torpor.Caller` of the endpoint. `options` are the Caller's own, and take precedence."""
        from botocore.session import Session

        from torpor.calling.caller import Caller

        session = Session()
        session.set_credentials(*self.keys)
        session.set_config_variable("ca_bundle", self.ca_bundle)
        return Caller(self.url, **{"region": self.region, "session": session, "proxied": False, **options})

    def page(
        self,
        name: str,
        query: Mapping[str, str] = MappingProxyType({}),
        timeout_s: float = 10.0,
        method: str = "GET",
        sent: bytes | None = None,
    ) -> bytes:
        """The body of one of the endpoint's own pages, `/_torpor/<name>`; `sent` is the body of the request.

        Raises EndpointUnreachable, EndpointRefused.
        """
        return self.get(f"/_torpor/{name}" + (f"?{urlencode(query)}" if query else ""), timeout_s, method, sent)

    def sagemaker(self, operation: str, **members: Any) -> Json:
        """The answer of a reading operation of SageMaker's API. boto3 would read its model of the service first, which
        takes a fifth of a second: it is asked only where the endpoint refuses, for its error, or is elsewhere."""
        if not self.services:
            target = {"X-Amz-Target": f"SageMaker.{operation}", "Content-Type": "application/x-amz-json-1.1"}
            with suppress(EndpointRefused):
                sent = json.dumps(members).encode()
                return dict(json.loads(self.get("/", method="POST", sent=sent, given=target, service="sagemaker")))
        from botocore import xform_name

        client = self.client("sagemaker")
        try:
            return dict(getattr(client, xform_name(operation))(**members))
        finally:
            client.close()

    def get(
        self,
        path: str,
        timeout_s: float = 10.0,
        method: str = "GET",
        sent: bytes | None = None,
        given: Mapping[str, str] | None = None,
        service: str = OWN,
    ) -> bytes:
        """The body of an answer. The request has the `given` headers, and is signed for the service if there are keys.
        Raises EndpointUnreachable, EndpointRefused."""
        url, headers = f"{self.url}{path}", dict(given or ({} if sent is None else {"Content-Type": FORM}))
        if self.keys != UNVERIFIED:
            headers = signed_headers(method, url, sent, self.keys, self.region, headers, service)
        request = Request(url, sent, headers, method=method)
        try:
            with build_opener(ProxyHandler({}), *self._https).open(request, timeout=timeout_s) as answer:
                body: bytes = answer.read()
                return body
        except HTTPError as error:
            with error:
                raise EndpointRefused(error.read().decode(errors="replace") or str(error)) from None
        except URLError as error:
            raise EndpointUnreachable(self.url, error.reason) from error
        except (OSError, HTTPException, ValueError) as error:
            raise EndpointUnreachable(self.url, error) from error

    def json_page(
        self,
        name: str,
        query: Mapping[str, str] = MappingProxyType({}),
        method: str = "GET",
        timeout_s: float = 10.0,
    ) -> Any:
        return json.loads(self.page(name, query, timeout_s, method))

    @cached_property
    def _https(self) -> list[HTTPSHandler]:
        """What speaks https, by the trusted certificates. Raises EndpointUnreachable."""
        if not self.url.startswith("https"):
            return []
        import ssl

        from botocore.httpsession import get_cert_path

        try:
            return [HTTPSHandler(context=ssl.create_default_context(cafile=self.ca_bundle or get_cert_path(True)))]
        except OSError as error:
            raise EndpointUnreachable(self.url, f"{self.ca_bundle} cannot be read: {error}") from error

    @cached_property
    def _core(self) -> Any:
        """botocore's session below boto3's, which has read the services' models."""
        from botocore.session import Session

        return Session()

    @cached_property
    def _session(self) -> Any:
        from boto3.session import Session

        access_key, secret_key, token = self.keys
        return Session(access_key, secret_key, token, region_name=self.region, botocore_session=self._core)

    @cached_property
    def _session_elsewhere(self) -> Any:
        """For another URL than the endpoint's: with boto3's usual credentials, unless there are keys of an endpoint."""
        from boto3.session import Session

        usual = Session(region_name=self.region)
        return usual if self.keys == UNVERIFIED and usual.get_credentials() is not None else self._session

    @cached_property
    def _config(self) -> Any:
        from botocore.config import Config

        # No proxy: clients reach a Torpor endpoint directly, whatever the environment says.
        return self._config_elsewhere.merge(Config(proxies={}))

    @cached_property
    def _config_elsewhere(self) -> Any:
        from botocore.config import Config

        return Config(read_timeout=ANSWER_WITHIN_S, max_pool_connections=64, s3={"addressing_style": "path"})


def urls_of_services(environment: Mapping[str, str]) -> dict[str, str]:
    """The URLs of AWS's variables for single services, by the ends of their names. Raises ValueRefused."""
    prefix = f"{URL_VARIABLE}_"
    return {
        name.removeprefix(prefix): _checked(url) for name, url in environment.items() if name.startswith(prefix) and url
    }


def _checked(url: str) -> str:
    """The URL without a slash at its end. Raises ValueRefused."""
    if not url.startswith(SCHEMES):
        raise ValueRefused(f"{url} is not a URL such as {URL}: it must begin with {' or '.join(SCHEMES)}")
    return url.rstrip("/")


def without_proxy(url: str, environment: Mapping[str, str]) -> dict[str, str]:
    """`NO_PROXY`, in both spellings, with this machine added if the URL is on it: no proxy could reach it."""
    host = loopback(url)
    if host is None:
        return {}
    present = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    hosts = [name for part in present.split(",") if (name := part.strip())]
    extended = ",".join(hosts if host in hosts or "*" in hosts else [*hosts, host])
    return {"NO_PROXY": extended, "no_proxy": extended}


def loopback(url: str) -> str | None:
    """The URL's host if that is this machine, else None."""
    try:
        host = urlsplit(url).hostname or ""
        return host if host == "localhost" or ip_address(host).is_loopback else None
    except ValueError:  # the host is not an IP address
        return None


def client(service: str, url: str | None = None, **options: Any) -> Any:
    """A boto3 client of the endpoint at `url`, else at `AWS_ENDPOINT_URL`, else at the port of `torpor up`. Without
    `url`, a service's own variable, such as `AWS_ENDPOINT_URL_S3`, comes first."""
    return EndpointConnection.configured(url).client(service, **options)
