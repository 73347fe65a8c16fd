"""The defaults of every client of an endpoint."""

from torpor_endpoint.options import PORT

URL = f"http://127.0.0.1:{PORT}"
SCHEMES = ("http://", "https://")
URL_VARIABLE = "AWS_ENDPOINT_URL"
REGION = "us-east-1"
KEY = "torpor"
"""Both halves of the credentials: boto3 needs some, and Torpor checks none."""

ANSWER_WITHIN_S = 150.0
"""A first call may wait 60 s for its model and then predict for 60 s. botocore's own limit would send it again."""
