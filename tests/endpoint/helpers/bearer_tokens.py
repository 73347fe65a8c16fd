"""Bearer tokens of Amazon SageMaker."""

from base64 import b64encode

from botocore.auth import SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.endpoint.helpers.live_endpoint import REGION


def token(access_key: str, secret: str, expires_s: int = 300) -> str:
    """As the SageMaker Python SDK makes it."""
    request = AWSRequest("POST", "https://sagemaker.amazonaws.com/", params={"Action": "CallWithBearerToken"})
    SigV4QueryAuth(Credentials(access_key, secret), "sagemaker", REGION, expires=expires_s).add_auth(request)
    url = request.url.removeprefix("https://") + "&Version=1"
    return "sagemaker-api-key-" + b64encode(url.encode()).decode()
