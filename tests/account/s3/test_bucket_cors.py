"""A bucket's CORS configuration lets pages of other origins in, to that bucket and no other."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.account.helpers.browser_requests import Reply, call
from torpor_account.s3.app import S3App
from torpor_account.s3.errors import S3Error
from torpor_account.s3.object_store import ObjectStore
from torpor_account.s3.operations.cors_rules import cors_rules
from torpor_account.s3.wire.parsing import parsed

PAGE = {"host": "127.0.0.1", "origin": "http://a.example.com"}
RULE = """<CORSRule><AllowedOrigin>http://*.example.com</AllowedOrigin><AllowedMethod>{}</AllowedMethod>
<AllowedHeader>x-amz-*</AllowedHeader><ExposeHeader>ETag</ExposeHeader><MaxAgeSeconds>7</MaxAgeSeconds></CORSRule>"""


def document(*rules: str) -> bytes:
    return f"<CORSConfiguration>{''.join(rules)}</CORSConfiguration>".encode()


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    """Buckets named by the rights of a page of example.com."""
    store = ObjectStore(tmp_path)
    for bucket, methods in {"closed": (), "readable": ("GET",), "writable": ("GET", "PUT", "POST")}.items():
        store.buckets.create(bucket)
        (tmp_path / bucket / "k").write_bytes(b"hello")
        if methods:
            store.buckets.configure(bucket, "cors", document(*map(RULE.format, methods)))
    return store


def asked(store: ObjectStore, method: str, path: str, headers: Mapping[str, str] = {}, query: str = "") -> Reply:
    app = S3App(store, account="123456789012", region="us-east-1").cross_origin
    return call(app, method, path, {**PAGE, "content-length": "0", **headers}, query=query)


@pytest.mark.parametrize(("path", "status"), [("/readable/k", 200), ("/readable/none", 404), ("/readable", 200)])
def test_an_allowed_request_is_readable_by_the_page_even_if_it_fails(
    store: ObjectStore, path: str, status: int
) -> None:
    reply = asked(store, "GET", path)
    assert (reply.status, reply.headers["access-control-allow-origin"]) == (status, "http://a.example.com")
    assert reply.headers["access-control-expose-headers"] == "ETag"
    assert (reply.headers["x-content-type-options"], reply.headers["content-security-policy"]) == ("nosniff", "sandbox")


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("GET", "/closed/k", {}),
        ("PUT", "/readable/k", {}),
        ("DELETE", "/writable/k", {}),
        ("HEAD", "/readable/k", {}),
        ("GET", "/readable/k", {"origin": "http://example.org"}),
        ("GET", "/readable/k", {"origin": "null"}),
        ("GET", "/", {}),
        ("PUT", "/new-bucket", {}),
        ("GET", "/k", {"host": "closed.localhost"}),
        ("PUT", "/writable/copy", {"x-amz-copy-source": "/closed/k"}),
        ("PUT", "/writable/copy", {"x-amz-copy-source": "closed%2Fk"}),
    ],
)
def test_a_request_that_no_rule_allows_is_refused_and_changes_nothing(
    store: ObjectStore, tmp_path: Path, method: str, path: str, headers: dict[str, str]
) -> None:
    reply = asked(store, method, path, headers)
    assert (reply.status, "access-control-allow-origin" in reply.headers) == (403, False)
    assert method == "HEAD" or b"<Code>AccessForbidden</Code>" in reply.body
    assert [bucket.name for bucket in store.buckets.all()] == ["closed", "readable", "writable"]
    assert [path.read_bytes() for path in tmp_path.glob("[!.]*/*")] == [b"hello"] * 3


def test_a_link_that_carries_its_copy_source_is_no_way_around(store: ObjectStore) -> None:
    link = "X-Amz-Signature=0&X-Amz-Date=20990101T000000Z&X-Amz-Expires=60&x-amz-copy-source=/{}/k"
    assert asked(store, "PUT", "/writable/copy", query=link.format("closed")).status == 403
    assert asked(store, "PUT", "/writable/copy", query=link.format("readable")).status == 200


@pytest.mark.parametrize(
    ("path", "method", "headers", "status"),
    [
        ("/writable/k", "PUT", "x-amz-date,X-Amz-Content-Sha256", 200),
        ("/writable/k", "PUT", "", 200),
        ("/writable/k", "PUT", "authorization", 403),
        ("/writable/k", "DELETE", "", 403),
        ("/closed/k", "GET", "", 403),
        ("/writable/k", "", "", 400),
    ],
)
def test_a_preflight_is_answered_by_the_rules(
    store: ObjectStore, path: str, method: str, headers: str, status: int
) -> None:
    asking = {"access-control-request-method": method} if method else {}
    reply = asked(store, "OPTIONS", path, {**asking, "access-control-request-headers": headers})
    assert reply.status == status
    assert reply.headers.get("access-control-allow-headers", "") == (
        headers.lower().replace(",", ", ") * (status == 200)
    )
    assert reply.headers.get("access-control-max-age") == ("7" if status == 200 else None)


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ([RULE.format("PATCH")], "Unsupported method is PATCH"),
        ([RULE.format("get")], "Unsupported method is get"),
        ([RULE.format("GET").replace("http://*.", "http://**.")], "can not have more than one wildcard"),
        ([RULE.format("GET").replace("x-amz-*", "*-amz-*")], "can not have more than one wildcard"),
        ([RULE.format("GET").replace("ETag", "*")], "contains wildcard"),
        ([RULE.format("GET")] * 101, "limit of 100 rules"),
        ([RULE.format("GET").replace("7<", "soon<")], "not well-formed"),
        (["<CORSRule><AllowedMethod>GET</AllowedMethod></CORSRule>"], "not well-formed"),
        (["<CORSRule><AllowedOrigin>*</AllowedOrigin></CORSRule>"], "not well-formed"),
        ([RULE.format("GET").replace("ETag", "a&#10;b")], "not well-formed"),
    ],
)
def test_a_configuration_that_s3_refuses_is_refused(rules: list[str], said: str) -> None:
    with pytest.raises(S3Error, match=said):
        cors_rules(parsed(document(*rules), "CORSConfiguration"))
