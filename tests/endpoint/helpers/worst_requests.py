"""The requests that cost the most work, each made when it is asked for, to measure how long it holds up others."""

import json
from collections.abc import Callable, Mapping

MIB = 1 << 20
DOCUMENT = 8 * MIB - 1024
AUTH = (
    "Authorization: AWS4-HMAC-SHA256 Credential=AK/20250101/us-east-1/{}/aws4_request, SignedHeaders=host, Signature=0"
)
FORM = "Content-Type: application/x-www-form-urlencoded"
VALUES = b",".join(b"%d.5" % at for at in range(120))
COUNTS = b",".join([b"1"] * 120)
CHUNK = b"1\r\nx\r\n"


def request(line: str, *headers: str, body: bytes | None = None) -> bytes:
    """A request with the length of its body, if any; to the host `127.0.0.1` unless another is named."""
    host = [] if any(header.startswith("Host:") for header in headers) else ["Host: 127.0.0.1"]
    length = [] if body is None else [f"Content-Length: {len(body)}"]
    return "\r\n".join([f"{line} HTTP/1.1", *host, *headers, *length, "", ""]).encode() + (body or b"")


def aws(service: str, target: str, body: bytes) -> bytes:
    headers = AUTH.format(service), "Content-Type: application/x-amz-json-1.1", f"X-Amz-Target: {target}"
    return request("POST /", *headers, body=body)


def form(service: str, body: bytes) -> bytes:
    return request("POST /", AUTH.format(service), FORM, body=body)


def cbor(body: bytes) -> bytes:
    path = "/service/GraniteServiceVersion20100801/operation/PutMetricData"
    return request(f"POST {path}", AUTH.format("monitoring"), "smithy-protocol: rpc-v2-cbor", body=body)


def cbor_list(items: bytes) -> bytes:
    return cbor(b"\xa1\x6aMetricData\x9a" + len(items).to_bytes(4, "big") + items)


def chunked(line: str, *headers: str) -> bytes:
    return request(line, "Transfer-Encoding: chunked", *headers) + CHUNK * 60_000 + b"0\r\n\r\n"


def aws_chunked(line: str) -> bytes:
    sent = "x-amz-content-sha256: STREAMING-UNSIGNED-PAYLOAD-TRAILER", "x-amz-decoded-content-length: 60000"
    return request(line, "Content-Encoding: aws-chunked", *sent, body=CHUNK * 60_000 + b"0\r\n\r\n")


def xml(line: str, root: str, inside: bytes) -> bytes:
    tag = root.encode()
    return request(line, body=b"<%b>%b</%b>" % (tag, inside, tag))


WARMING = {
    "S3": request("PUT /bucket", body=b""),
    "SageMaker": aws("sagemaker", "SageMaker.ListModels", b"{}"),
    "CloudWatch": cbor(b"\xa0"),
    "logs": aws("logs", "Logs_20140328.DescribeLogGroups", b"{}"),
    "IAM": form("iam", b"Action=ListRoles&Version=2010-05-08"),
    "a form": request("POST /", FORM, body=b"Action=GetCallerIdentity&Version=2011-06-15"),
    "the runtime": request("POST /endpoints/e/invocations", AUTH.format("sagemaker"), body=b"1"),
}
"""One of each kind, by which what it needs is imported."""

WORST: Mapping[str, Callable[[], bytes]] = {
    "a host of many dots": lambda: request("GET /", "Host: a" + ".s3." * 15_000 + "!"),
    "a host of many labels": lambda: request("GET /", "Host: " + "a." * 30_000 + "localhost"),
    "a long query": lambda: request("GET /?" + "a=&" * 300_000),
    "a query of many fields": lambda: request("GET /?" + "a=&" * 10_000 + "Action=x"),
    "a large head": lambda: request("GET /b/k", *(f"x{at}: {'v' * 60_000}" for at in range(20))),
    "a large name of a header": lambda: request("GET /b/k", "x" * 60_000 + ": v"),
    "many tags": lambda: request("PUT /bucket/k", "x-amz-tagging: " + "a=&" * 20_000, body=b"x"),
    "a quoted source": lambda: request("PUT /bucket/k", "x-amz-copy-source: " + "a%2F" * 12_000, body=b""),
    "XML of elements": lambda: xml("POST /bucket?delete", "Delete", b"<a/>" * (DOCUMENT // 4)),
    "XML of as many elements as may be": lambda: xml("POST /bucket?delete", "Delete", b"<a/>" * 399_990),
    "XML of lines": lambda: xml("POST /bucket?delete", "Delete", b"\n" * DOCUMENT),
    "XML of references": lambda: xml("POST /bucket?delete", "Delete", b"&#10;" * (DOCUMENT // 5)),
    "XML of attributes": lambda: xml(
        "POST /bucket?delete", "Delete", b"<a %b/>" % b" ".join(b"a%d=''" % at for at in range(399_000))
    ),
    "XML that is deep": lambda: xml("PUT /bucket?cors", "CORSConfiguration", b"<a>" * 199_000 + b"</a>" * 199_000),
    "XML of parts": lambda: xml(
        "POST /bucket/k?uploadId=x",
        "CompleteMultipartUpload",
        b"<Part>\n<ETag>a</ETag>\n<PartNumber>1</PartNumber>\n</Part>\n" * 39_000,
    ),
    "a policy of numbers": lambda: request("PUT /bucket?policy", body=b"[" + b"1," * (4 * MIB - 1024) + b"1]"),
    "JSON of numbers": lambda: aws("sagemaker", "SageMaker.CreateModel", b'{"ModelName":[' + b"1," * 399_000 + b"1]}"),
    "JSON of objects": lambda: aws(
        "sagemaker", "SageMaker.CreateModel", b'{"Containers":[' + b"{}," * 40_000 + b"{}]}"
    ),
    "JSON that is deep": lambda: aws("sagemaker", "SageMaker.CreateModel", b"[" * 399_000),
    "JSON of tags": lambda: aws(
        "sagemaker",
        "SageMaker.CreateModel",
        json.dumps({"ModelName": "m", "Tags": [{"Key": f"k{at}", "Value": "v"} for at in range(20_000)]}).encode(),
    ),
    "JSON for others": lambda: aws(
        "kinesis", "Kinesis_20131202.PutRecords", b'{"Records":[' + b"1," * (4 * MIB - 1024) + b"1]}"
    ),
    "CBOR of numbers": lambda: cbor_list(b"\x01" * 200_000),
    "CBOR of maps": lambda: cbor_list(b"\xa0" * 100_000),
    "as many values as a call may bring": lambda: aws(
        "monitoring",
        "GraniteServiceVersion20100801.PutMetricData",
        b'{"Namespace":"N","MetricData":['
        + b",".join(b'{"MetricName":"m%d","Values":[%b],"Counts":[%b]}' % (at, VALUES, COUNTS) for at in range(1_000))
        + b"]}",
    ),
    "an expression of digits": lambda: aws(
        "monitoring",
        "GraniteServiceVersion20100801.GetMetricData",
        b'{"StartTime":0,"EndTime":60,"MetricDataQueries":[{"Id":"e","Expression":"' + b"1" * 2_000 + b'a"}]}',
    ),
    "a form of fields": lambda: form("monitoring", b"Action=PutMetricData&Version=2010-08-01&" + b"a=&" * 99_000),
    "a form of one deep field": lambda: form(
        "monitoring", b"Action=PutMetricData&Version=2010-08-01&a" + b".a" * 500_000
    ),
    "a form of members": lambda: form(
        "monitoring",
        b"Action=PutMetricData&Version=2010-08-01"
        + b"".join(b"&MetricData.member.%d.MetricName=a" % at for at in range(1, 20_000)),
    ),
    "a form that nobody signed": lambda: request("POST /", FORM, body=b"Action=AssumeRole&" + b"a=&" * 99_000),
    "an upload by a form of one long word": lambda: request(
        "POST /bucket",
        "Content-Type: multipart/form-data; boundary=x",
        body=b"--x\r\ncontent-disposition: form-data;" + b"a" * 19_000 + b"\r\n\r\nv\r\n--x--\r\n",
    ),
    "an upload by a form that is all head": lambda: request(
        "POST /bucket",
        "Content-Type: multipart/form-data; boundary=x",
        body=b"--x\r\ncontent-disposition: form-data;" + b"a" * MIB + b"\r\n\r\nv\r\n--x--\r\n",
    ),
    "an object in small chunks": lambda: chunked("PUT /bucket/k"),
    "an invocation in small chunks": lambda: chunked("POST /endpoints/e/invocations", AUTH.format("sagemaker")),
    "an object in small chunks of AWS's": lambda: aws_chunked("PUT /bucket/k"),
    "a document in small chunks of AWS's": lambda: aws_chunked("POST /bucket?delete"),
    "a long pipeline": lambda: request("GET /_torpor/health") * 4_000,
}
