"""Unsigned query calls find their service by the form alone."""

import pytest

from tests.account.aws.helpers.asgi_calls import Reply, call
from torpor_account.aws.wire.unsigned_form import FORM_LIMIT_BYTES, UnsignedForm
from torpor_account.sts.service import service
from torpor_endpoint.services.service_register import ADDRESSES

FORM = {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}
WHOAMI = b"Action=GetCallerIdentity&Version=2011-06-15"


def sent(body: bytes, query: str = "") -> Reply:
    app = UnsignedForm({"sts": service(lambda: 0.0, account="123456789012")}.get, ADDRESSES.versions)
    reply = call(app, headers=FORM, body=body, query=query)
    assert reply is not None
    return reply


def test_the_form_in_the_body_finds_its_service_which_reads_it_again() -> None:
    reply = sent(WHOAMI)
    assert reply.status == 200
    assert b"<Account>123456789012</Account>" in reply.body


def test_the_form_may_stand_in_the_url_of_a_post() -> None:
    assert sent(b"", WHOAMI.decode()).status == 200


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"Action=GetCallerIdentity&Version=1999-01-01", b"InvalidAction"),
        (b"Action=GetCallerIdentity", b"InvalidAction"),
        (b"Action=ListQueues&Version=2012-11-05", b"InvalidAction"),
        (b"Version=2011-06-15", b"MissingAction"),
        (b"\xff\x00", b"MissingAction"),
        (b"", b"MissingAction"),
    ],
)
def test_a_form_of_no_service_is_refused_in_the_query_protocol(body: bytes, code: bytes) -> None:
    reply = sent(body)
    assert (reply.status, reply.headers["content-type"]) == (400, "text/xml")
    assert b"<Code>%s</Code>" % code in reply.body


def test_a_form_that_is_too_large_is_read_to_its_end_and_refused() -> None:
    assert sent(b"a" * (FORM_LIMIT_BYTES + 1)).status == 413
