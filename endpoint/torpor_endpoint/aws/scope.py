"""Which AWS service a request on the one port means, and which region: read from signature, path and headers alone."""

import re
from collections.abc import Mapping
from urllib.parse import parse_qs

DEFAULT_REGION = "us-east-1"

SIGNED_AS = {
    # The names in a signature are not always botocore's names of the service.
    "monitoring": "cloudwatch",
    "s3express": "s3",
    "s3-outposts": "s3",
}

TARGETS = {
    # What stands before the operation in X-Amz-Target, or after /service/ in a CBOR call's path.
    "SageMaker": "sagemaker",
    "GraniteServiceVersion20100801": "cloudwatch",
    "AnyScaleFrontendService": "application-autoscaling",
    "Logs_20140328": "logs",
    "AmazonEC2ContainerRegistry_V20150921": "ecr",
    "AmazonSQS": "sqs",
}

VERSIONS = {
    # Query calls name their API's version.
    "2010-08-01": "cloudwatch",
    "2011-06-15": "sts",
    "2010-05-08": "iam",
    "2010-03-31": "sns",
}

RUNTIME_PATH = re.compile(r"/endpoints/[^/]+/(invocations|async-invocations|invocations-response-stream)")
CREDENTIAL = re.compile(r"Credential=([^,\s]+)")


def service_of(method: str, path: str, headers: Mapping[str, str], query: str = "") -> str:
    """botocore's name of the service. `headers` are by lower-case name, `path` is decoded, `query` is not.

    What nothing else claims is S3's: its requests may be unsigned and may have any path.
    """
    signed = _signed(headers, query)
    if signed == "sagemaker" or (signed is None and method == "POST" and _is_runtime(path, query)):
        return _sagemaker(path)
    if signed is not None:
        return SIGNED_AS.get(signed, signed)
    return _unsigned(path, headers, query)


def region_of(headers: Mapping[str, str], query: str = "") -> str:
    """The region that the request was signed for."""
    parts = _credential(headers, query)
    return parts[2] if len(parts) == 5 and parts[2] else DEFAULT_REGION


def _credential(headers: Mapping[str, str], query: str) -> list[str]:
    """`KEY/DATE/REGION/SERVICE/aws4_request`; SigV4A has no region."""
    found = CREDENTIAL.search(headers.get("authorization", ""))
    if found:
        return found[1].split("/")
    if "X-Amz-Credential=" in query:
        return parse_qs(query).get("X-Amz-Credential", [""])[0].split("/")
    return []


def _signed(headers: Mapping[str, str], query: str) -> str | None:
    parts = _credential(headers, query)
    if len(parts) >= 4:
        return parts[-2]
    sigv2 = headers.get("authorization", "").startswith("AWS ") or "AWSAccessKeyId=" in query
    return "s3" if sigv2 else None


def _is_runtime(path: str, query: str) -> bool:
    # POST to an S3 object is a multipart call and says so in its query.
    return "upload" not in query and RUNTIME_PATH.fullmatch(path) is not None


def _sagemaker(path: str) -> str:
    """The control plane, the runtime and the metrics service sign with one name."""
    if RUNTIME_PATH.fullmatch(path):
        return "sagemaker-runtime"
    return "sagemaker-metrics" if path.startswith("/BatchPutMetrics") else "sagemaker"


def _unsigned(path: str, headers: Mapping[str, str], query: str) -> str:
    target = headers.get("x-amz-target", "").partition(".")[0]
    if path.startswith("/service/") and "smithy-protocol" in headers:
        target = path.split("/")[2]
    if target:
        return TARGETS.get(target, "s3")
    version = parse_qs(query).get("Version", [""])[0] if "Action=" in query else ""
    return VERSIONS.get(version, "s3")
