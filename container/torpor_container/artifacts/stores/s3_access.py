"""How to reach S3, and with which credentials: complete, so that no environment variable changes it."""

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from torpor_container.artifacts.errors import ArtifactForbidden, StoreUnreachable
from torpor_container.frozen_class import frozen
from torpor_container.processes.inherited_variables import READABLE, ROLE_TOKEN, ROLE_URL
from torpor_container.processes.threads import on_thread

if TYPE_CHECKING:
    from obstore.store import ClientConfig, S3Credential, S3CredentialProvider

FORBIDDEN = 403
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@frozen
class S3Access:
    """An endpoint (empty: AWS), credentials (empty: the AWS SDK's usual chain), and timeouts in seconds.

    `credentials_url` is a page of temporary credentials, which comes before all others: those of the execution role.
    """

    endpoint_url: str = ""
    region: str = ""
    access_key_id: str = ""
    secret_access_key: str = field(default="", repr=False)
    session_token: str = field(default="", repr=False)
    credentials_url: str = ""
    credentials_token: str = field(default="", repr=False)
    patience_s: float = 30.0
    connect_timeout_s: float = 5.0
    retries_max: int = 5

    @classmethod
    def read(cls, environment: Mapping[str, str], endpoint_url: str = "") -> "S3Access":
        """Credentials and region from the environment. Not the endpoint: `AWS_ENDPOINT_URL` may be Torpor itself."""
        return cls(
            endpoint_url=endpoint_url,
            region=environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION", ""),
            access_key_id=environment.get("AWS_ACCESS_KEY_ID", ""),
            secret_access_key=environment.get("AWS_SECRET_ACCESS_KEY", ""),
            session_token=environment.get("AWS_SESSION_TOKEN", ""),
            credentials_url=environment.get(ROLE_URL, ""),
            credentials_token=environment.get(ROLE_TOKEN, ""),
        )

    @property
    def local(self) -> bool:
        """Whether the endpoint is on this machine, where no proxy is needed."""
        host = urlsplit(self.endpoint_url).hostname or ""
        return host in _LOOPBACK or host.endswith(".localhost")


def connect(bucket: str, access: S3Access) -> S3Store:
    """A client for one bucket. It connects when it is first used."""
    credentials, region = _credentials(access)
    region = access.region or region or "us-east-1"
    endpoint = (access.endpoint_url or aws_endpoint(region)).rstrip("/")
    return S3Store(
        bucket,
        config={
            # The first of the two wins over the second, and either may be set in the environment.
            "aws_endpoint_url_s3": endpoint,
            "endpoint": endpoint,
            "region": region,
            "virtual_hosted_style_request": False,
            "skip_signature": credentials is None,
        },
        client_options=_client_options(endpoint, access),
        retry_config={
            "max_retries": access.retries_max,
            "retry_timeout": timedelta(seconds=access.patience_s),
            "backoff": {  # obstore adds jitter, so that throttled clients do not all retry together
                "init_backoff": timedelta(milliseconds=100),
                "max_backoff": timedelta(seconds=2),
                "base": 2,
            },
        },
        credential_provider=credentials,
    )


def signs(client: S3Store) -> bool:
    return client.credential_provider is not None


async def encrypted_at_rest(client: S3Store, key: str) -> bool:
    """Whether the object's ETag may look like an MD5 without being one. It takes a request: call it if they differ.

    AWS: "Objects encrypted by SSE-C or SSE-KMS have ETags that are not an MD5 digest of their object data." The client
    does not return the header that shows it.
    """
    try:
        url = await obstore.sign_async(client, "HEAD", key, timedelta(minutes=1))
        headers = await on_thread(_head, url)
    except (BaseError, OSError):
        return False
    return headers.get("x-amz-server-side-encryption", "").startswith("aws:kms")


def _head(url: str) -> Mapping[str, str]:
    with urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=10) as answer:
        headers: Mapping[str, str] = answer.headers
    return headers


def _credentials(access: S3Access) -> tuple["S3CredentialProvider | None", str]:
    if access.credentials_url:
        return lambda: role_credentials(access), ""
    return _given(access) if access.access_key_id else _usual_chain()


def role_credentials(access: S3Access) -> "S3Credential":
    """The present credentials of the execution role. obstore asks anew before they expire. Raises OSError, ValueError.

    boto3 would do so too, but it is slow to import.
    """
    with _asked(access.credentials_url, access) as answer:
        found = json.load(answer)
    return {
        "access_key_id": found["AccessKeyId"],
        "secret_access_key": found["SecretAccessKey"],
        "token": found["Token"],
        "expires_at": datetime.fromisoformat(found["Expiration"]),
    }


def check_readable(access: S3Access, bucket: str, key: str) -> None:
    """Raises ArtifactForbidden for an object that the execution role may not read, and StoreUnreachable. It blocks."""
    url = urlsplit(access.credentials_url)._replace(path=READABLE, query=urlencode({"bucket": bucket, "key": key}))
    try:
        _asked(url.geturl(), access).close()
    except urllib.error.HTTPError as refused:
        with refused:
            if refused.code == FORBIDDEN:
                raise ArtifactForbidden(bucket, key) from refused
            raise StoreUnreachable(bucket, key, f"its endpoint answers {refused.code}") from refused
    except OSError as error:
        raise StoreUnreachable(bucket, key, str(error)) from error


def _asked(url: str, access: S3Access) -> Any:
    """The answer to a holder of the role's token, from this machine or by HTTPS: no proxy is needed."""
    request = urllib.request.Request(url, headers={"Authorization": access.credentials_token})
    return urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10)


def _given(access: S3Access) -> tuple["S3CredentialProvider", str]:
    credential: S3Credential = {
        "access_key_id": access.access_key_id,
        "secret_access_key": access.secret_access_key,
        "token": access.session_token or None,
        "expires_at": None,
    }
    return lambda: credential, ""


def _usual_chain() -> tuple["S3CredentialProvider | None", str]:
    from obstore.auth.boto3 import Boto3CredentialProvider

    session = usual_session()
    region: str = session.region_name or ""
    if session.get_credentials() is None:
        return None, region
    # boto3 renews what has ten minutes left, so what it hands out is good for at least this long.
    return Boto3CredentialProvider(session, ttl=timedelta(minutes=5)), region


def usual_session() -> Any:
    """Environment, profile, web identity, container, machine. A role is asked of AWS, never of `AWS_ENDPOINT_URL`."""
    # boto3 is slow to import, and an instance that was handed its credentials never needs it.
    import boto3
    import botocore.session

    core = botocore.session.Session()
    core.set_config_variable("ignore_configured_endpoint_urls", True)
    return boto3.Session(botocore_session=core)


def role_session(access: S3Access) -> Any:
    """A session with the credentials of the execution role, whatever else the environment has."""
    import boto3
    import botocore.session
    from botocore.credentials import ContainerProvider, CredentialResolver

    core = botocore.session.Session()
    environment = {ROLE_URL: access.credentials_url, ROLE_TOKEN: access.credentials_token}
    core.register_component("credential_provider", CredentialResolver([ContainerProvider(environment)]))
    return boto3.Session(botocore_session=core)


def aws_endpoint(region: str) -> str:
    return f"https://s3.{region}.amazonaws.com" + (".cn" if region.startswith("cn-") else "")


def _client_options(endpoint: str, access: S3Access) -> "ClientConfig":
    options: ClientConfig = {
        "allow_http": endpoint.startswith("http://"),
        "connect_timeout": timedelta(seconds=access.connect_timeout_s),
        "read_timeout": timedelta(seconds=access.patience_s),
        "timeout": timedelta(hours=1),  # of a whole download; the keeper limits how long a load may take
    }
    host = urlsplit(endpoint).hostname or ""
    if host in _LOOPBACK or host.endswith(".localhost"):
        # Naming a proxy and an exception from it is the only way to keep HTTP_PROXY away from our own machine.
        options["proxy_url"] = "http://127.0.0.1:9"
        options["proxy_excludes"] = host
    return options
