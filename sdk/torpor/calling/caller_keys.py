"""The access keys that calls are signed with: those of the environment, or of an endpoint's data folder."""

from collections.abc import Mapping
from configparser import ConfigParser
from configparser import Error as NotCredentials
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from torpor.calling.defaults import KEY, URL_VARIABLE
from torpor.errors import ValueRefused

if TYPE_CHECKING:
    from botocore.credentials import Credentials

CREDENTIALS_FILE = "credentials"
"""The file of the root credential in an endpoint's data folder."""
CA_BUNDLE = "AWS_CA_BUNDLE"
"""The variable by which AWS's clients trust further certificates."""
TRUSTED = Path("tls") / "trusted.pem"
"""The file of a data folder by which its endpoint's certificate is trusted, where it would not be anyway."""
ID, SECRET, TOKEN = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"
LEFT_OVER = (
    TOKEN,
    "AWS_SECURITY_TOKEN",
    "AWS_CREDENTIAL_EXPIRATION",
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
)
"""Variables of another account, which AWS's clients read beside those of an endpoint. boto3 sends the token, under its
new or old name, with whatever keys there are, and believes that these end when the others do. The SDK for JavaScript
prefers a profile to keys. The last variable has all of them call AWS itself."""
FORM = "application/x-www-form-urlencoded"
"""What urllib gives a body without a type; it would not be signed."""
OWN = "torpor"
"""The service that requests for the endpoint's own pages are signed for."""


class AccessKeys(NamedTuple):
    """An access key, its secret, and the token of a temporary one."""

    access_key: str
    secret_key: str
    token: str | None = None

    @property
    def variables(self) -> dict[str, str]:
        """The variables that AWS's clients read."""
        token = {} if self.token is None else {TOKEN: self.token}
        return {ID: self.access_key, SECRET: self.secret_key, **token}

    @property
    def credentials(self) -> "Credentials":
        """As botocore has them."""
        from botocore.credentials import Credentials

        return Credentials(*self)


UNVERIFIED = AccessKeys(KEY, KEY)
"""For an endpoint that verifies nothing."""


def of_environment(variables: Mapping[str, str]) -> AccessKeys | None:
    """The keys in the environment, if it is one for an endpoint of Torpor, as `torpor env` prints it."""
    if not (variables.get(URL_VARIABLE) and variables.get(ID) and variables.get(SECRET)):
        return None
    return AccessKeys(variables[ID], variables[SECRET], variables.get(TOKEN))


def of_data_dir(folder: Path) -> AccessKeys | None:
    """The root's keys in a data folder; None if it has none. Raises ValueRefused for a file without keys."""
    path = folder / CREDENTIALS_FILE
    parser = ConfigParser(interpolation=None)
    try:
        with path.open() as file:
            parser.read_file(file)
        found = parser["default"]
        return AccessKeys(found["aws_access_key_id"], found["aws_secret_access_key"])
    except FileNotFoundError:
        return None
    except (NotCredentials, KeyError, OSError, UnicodeDecodeError) as error:
        raise ValueRefused(f"{path} has no credential that can be read: {error}") from error


def signed_headers(
    method: str, url: str, body: bytes | None, keys: AccessKeys, region: str, given: Mapping[str, str], service: str
) -> dict[str, str]:
    """The headers of a request, with its signature for this service."""
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest

    request = AWSRequest(method, url, dict(given), body or b"")
    SigV4Auth(keys.credentials, service, region).add_auth(request)
    return dict(request.headers.items())
