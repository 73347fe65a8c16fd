"""An endpoint that speaks HTTPS with a certificate of its own, and AWS's clients that trust it."""

import io
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import ROW, booster, packed, predicted, put, script
from torpor_container.isolation.abilities import found

SCRIPT = """
import json, os, boto3
def model_fn(folder): return None
def input_fn(body, kind): return body
def predict_fn(body, model):
    folder = os.path.dirname(os.environ["AWS_CA_BUNDLE"])
    try:
        seen = os.listdir(folder)
    except PermissionError:
        seen = None
    return {"buckets": [one["Name"] for one in boto3.client("s3").list_buckets()["Buckets"]], "seen": seen}
def output_fn(answer, kind): return json.dumps(answer)
"""


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveEndpoint]:
    with LiveEndpoint(tmp_path_factory.mktemp("live"), "--tls-self-signed", "--auth") as endpoint:
        assert json.loads(endpoint.page("health"))["auth"] == "on"
        yield endpoint


def opened(live: LiveEndpoint, url: str, **headers: str) -> bytes:
    context = ssl.create_default_context(cafile=live.trusted)
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), context=context, timeout=60) as answer:
        return bytes(answer.read())


def test_uploads_without_a_signed_body_and_presigned_links_work(live: LiveEndpoint) -> None:
    s3 = live.client("s3", s3={"addressing_style": "path", "multipart_threshold": 5 << 20})
    kinds: set[Any] = set()
    s3.meta.events.register("before-send.s3", lambda request, **_: kinds.add(request.headers["X-Amz-Content-SHA256"]))
    s3.create_bucket(Bucket="objects")
    s3.upload_fileobj(io.BytesIO(b"x" * (12 << 20)), "objects", "large")
    assert s3.head_object(Bucket="objects", Key="large")["ContentLength"] == 12 << 20
    assert any(b"UNSIGNED" in kind for kind in kinds)
    url = s3.generate_presigned_url("get_object", Params={"Bucket": "objects", "Key": "large"})
    assert url.startswith("https://")
    assert len(opened(live, url)) == 12 << 20


def test_a_bucket_can_ask_for_a_version_of_tls(live: LiveEndpoint) -> None:
    s3 = live.client("s3")
    s3.create_bucket(Bucket="modern")
    for least, allowed in (("1.2", True), ("1.4", False)):
        old = {"NumericLessThan": {"s3:TlsVersion": least}}
        statement = {"Effect": "Deny", "Principal": "*", "Action": "s3:ListBucket", "Condition": old}
        document = {"Version": "2012-10-17", "Statement": [{**statement, "Resource": "arn:aws:s3:::modern"}]}
        s3.put_bucket_policy(Bucket="modern", Policy=json.dumps(document))
        with nullcontext() if allowed else pytest.raises(ClientError, match="explicit deny"):
            s3.list_objects_v2(Bucket="modern")


def test_a_model_is_invoked_and_its_script_calls_the_endpoint(live: LiveEndpoint) -> None:
    models = {"one.tar.gz": packed({"model.json": booster()}), "script.tar.gz": script(SCRIPT)}
    put(live.folder("models"), models)
    live.deploy("secure", Variant(many("models/", {"TORPOR_SCRIPT_WRITES": ""})))
    answer = live.invoke("secure", ROW, TargetModel="one.tar.gz")["Body"]
    assert json.loads(answer) == pytest.approx([predicted()])
    said = json.loads(live.invoke("secure", b"", TargetModel="script.tar.gz", Accept="application/json")["Body"])
    assert "models" in said["buckets"]
    # It reads the file by which it trusts the endpoint, and sees nothing else of the folder around that.
    assert (said["seen"] in (None, ["trusted.pem"])) is bool(found().landlock)


def test_the_own_pages_origin_is_https(live: LiveEndpoint) -> None:
    health = f"{live.url}/_torpor/health"
    assert json.loads(opened(live, health, Origin=live.url))["status"] == "ok"
    with pytest.raises(urllib.error.HTTPError, match="403"):
        opened(live, health, Origin=live.url.replace("https", "http"))
