"""Signs a router's calls to the control, by an access key in variables."""

import os
from collections.abc import Mapping

from torpor_endpoint.routing.protocol.router_variables import CONTROL_KEY, CONTROL_SECRET
from torpor_endpoint.routing.router.control_client import Sign

SIGNED_AS = "torpor"


def half_given(environment: Mapping[str, str] = os.environ) -> str | None:
    """The variable that is missing beside the other one of the control's key; None if both or none are given."""
    missing = [name for name in (CONTROL_KEY, CONTROL_SECRET) if not environment.get(name)]
    return missing[0] if len(missing) == 1 else None


def signer(region: str, environment: Mapping[str, str] = os.environ) -> Sign | None:
    """The signature for each call; None if the environment has no access key."""
    access_key, secret, token = environment.get(CONTROL_KEY), environment.get(CONTROL_SECRET), None
    if not access_key or not secret:
        usual = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
        access_key, secret, token = map(environment.get, usual)
    if not access_key or not secret:
        return None
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    auth = SigV4Auth(Credentials(access_key, secret, token), SIGNED_AS, region)

    def sign(method: str, url: str, body: bytes) -> Mapping[str, str]:
        request = AWSRequest(method, url, data=body, headers={"content-type": "application/json"})
        auth.add_auth(request)
        return dict(request.headers.items())

    return sign
