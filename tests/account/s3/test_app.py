"""A verified caller's requests: what its policies say of each object, key by key, and of one that is not there."""

import asyncio
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from torpor_account.aws.wire.asgi import ACCESS, Message
from torpor_account.core.access.needs import AccessPlace, CallerAccess
from torpor_account.core.access.policy_statements import read_policy
from torpor_account.core.access.principals import Principal, PrincipalKind
from torpor_account.s3.app import S3App
from torpor_account.s3.object_store import ObjectStore

ACCOUNT = "123456789012"
OBJECTS = "arn:aws:s3:::models/*"
TAGGING = "<Tagging><TagSet><Tag><Key>owner</Key><Value>{}</Value></Tag></TagSet></Tagging>"


class Caller:
    """Calls the store with the rights of these statements."""

    def __init__(self, app: S3App, *statements: dict[str, Any]) -> None:
        self._app = app
        document = json.dumps({"Version": "2012-10-17", "Statement": statements})
        self._policy = read_policy(document, "own")

    def __call__(self, method: str, key: str, body: str = "", headers: Any = (), **query: str) -> tuple[int, str]:
        """The status and the body of the answer."""
        arn, given = f"arn:aws:iam::{ACCOUNT}:user/ann", {"content-length": str(len(body)), **dict(headers)}
        ann = Principal(PrincipalKind.USER, ACCOUNT, arn, identity=(self._policy,))
        scope = {
            "type": "http",
            "method": method,
            "path": f"/models/{key}",
            "query_string": urlencode(query).encode(),
            "headers": [(name.encode(), value.encode()) for name, value in given.items()],
            ACCESS: CallerAccess(ann, AccessPlace(ACCOUNT, "us-east-1")),
        }
        said: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": body.encode(), "more_body": False}

        async def send(message: Any) -> None:
            said.append(message)

        asyncio.run(self._app(scope, receive, send))
        return said[0]["status"], b"".join(one.get("body", b"") for one in said[1:]).decode()


def statement(effect: str, action: Any, resource: Any = OBJECTS, **condition: Any) -> dict[str, Any]:
    found = {"Effect": effect, "Action": action, "Resource": resource}
    return {**found, "Condition": condition} if condition else found


@pytest.fixture
def app(tmp_path: Path) -> S3App:
    app = S3App(ObjectStore(tmp_path), account=ACCOUNT, region="us-east-1")
    root = Caller(app, statement("Allow", "*", "*"))
    assert root("PUT", "")[0] == 200
    for tenant in "ab":
        assert root("PUT", f"{tenant}/k", tenant)[0] == 200
        assert root("PUT", f"{tenant}/k", TAGGING.format(tenant), tagging="")[0] == 200
    return app


def deletion(*keys: str) -> str:
    return f"<Delete>{''.join(f'<Object><Key>{key}</Key></Object>' for key in keys)}</Delete>"


def test_many_objects_are_deleted_key_by_key(app: S3App) -> None:
    ann = Caller(app, statement("Allow", "s3:*"), statement("Deny", "s3:DeleteObject", "arn:aws:s3:::models/b/*"))
    status, body = ann("POST", "", deletion("a/k", "b/k"), delete="")
    assert (status, body.count("<Deleted>"), body.count("<Error>")) == (200, 1, 1)
    assert "<Error><Key>b/k</Key><Code>AccessDenied</Code>" in body
    assert "on resource: arn:aws:s3:::models/b/k with an explicit deny" in body
    assert (ann("GET", "b/k")[0], ann("HEAD", "a/k")[0]) == (200, 403)


@pytest.mark.parametrize(("listing", "status"), [((), 403), (("arn:aws:s3:::models",), 404)])
@pytest.mark.parametrize(
    ("method", "headers", "query"),
    [
        ("GET", {}, {}),
        ("HEAD", {}, {}),
        ("GET", {"x-amz-object-attributes": "ETag"}, {"attributes": ""}),
        ("PUT", {"x-amz-copy-source": "/models/a/nothing"}, {}),
    ],
)
def test_only_who_may_list_learns_that_an_object_is_not_there(
    app: S3App, listing: Any, status: int, method: str, headers: Any, query: Any
) -> None:
    rights = [statement("Allow", ["s3:GetObject", "s3:GetObjectAttributes", "s3:PutObject"])]
    ann = Caller(app, *rights, *(statement("Allow", "s3:ListBucket", bucket) for bucket in listing))
    assert ann(method, "a/none", headers=headers, **query)[0] == status


def test_tags_of_an_object_decide_who_reads_it(app: S3App) -> None:
    of_b = {"StringEquals": {"s3:ExistingObjectTag/Owner": "b"}}
    denied = Caller(app, statement("Allow", "s3:*"), statement("Deny", "s3:GetObject", **of_b))
    allowed = Caller(app, statement("Allow", "s3:GetObject", **of_b))
    assert [denied("GET", "a/k")[0], denied("GET", "b/k")[0]] == [200, 403]
    assert [allowed("GET", "a/k")[0], allowed("GET", "b/k")[0]] == [403, 200]
    source = {"x-amz-copy-source": "/models/b/k"}
    assert denied("PUT", "a/copy", headers=source)[0] == 403


def test_tags_that_a_request_gives_decide_whether_it_may(app: S3App) -> None:
    to_b = {"StringEquals": {"s3:RequestObjectTag/owner": "b"}}
    ann = Caller(app, statement("Allow", "s3:*"), statement("Deny", ["s3:PutObject", "s3:PutObjectTagging"], **to_b))
    for owner, status in (("a", 200), ("b", 403)):
        assert ann("PUT", "a/new", "x", {"x-amz-tagging": f"owner={owner}"})[0] == status
        assert ann("PUT", "a/k", TAGGING.format(owner), tagging="")[0] == status


def test_a_key_of_listings_lets_nobody_read(app: S3App) -> None:
    ann = Caller(app, statement("Allow", "s3:*", "*", StringLike={"s3:prefix": "a/*"}))
    assert ann("GET", "", prefix="a/")[0] == 200
    assert ann("GET", "b/k", prefix="a/x")[0] == 403
    assert ann("HEAD", "", prefix="a/x")[0] == 403
