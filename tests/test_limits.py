"""The page on limits has the code's numbers."""

from pathlib import Path

from torpor_account import request_bodies
from torpor_account.aws.bounds import FORM_DEPTH_MAX, FORM_FIELDS_MAX, VALUES_MAX
from torpor_account.aws.off_loop import INLINE_MAX_BYTES
from torpor_account.aws.service import BODY_LIMIT_BYTES, OTHERS_BODY_LIMIT_BYTES, VIOLATIONS_MAX
from torpor_account.s3.wire.forms import FIELDS_MAX_BYTES
from torpor_account.s3.wire.http_exchange import PATIENCE_S
from torpor_account.s3.wire.intake import DOCUMENT_MAX_BYTES
from torpor_account.s3.wire.parsing import MARKS_MAX
from torpor_account.storage import data_dir
from torpor_container.http.clients.connections import GREETINGS_MAX, GREETINGS_SHARE
from torpor_container.http.messages.request_heads import (
    FIELD_MAX_BYTES,
    HEAD_MAX_BYTES,
    HOST_MAX_BYTES,
    LINE_MAX_BYTES,
)
from torpor_container.http.server import PATIENCE, SPARE_MIN, SPARE_SHARE
from torpor_container.http.tls.front import HANDSHAKE_S
from torpor_container.transport.greeting import GREETED_WITHIN_S
from torpor_endpoint import up
from torpor_endpoint.core.traffic import ShadowLimits
from torpor_endpoint.fleet.timing import InstanceTiming
from torpor_endpoint.options import Options
from torpor_endpoint.routing.router.control_client import BEGUN_WITHIN_S, FORWARDED_MAX
from torpor_endpoint.runtime.passage import CallLimits
from torpor_endpoint.starting import port_serving

PAGE = (Path(__file__).parent.parent / "docs" / "reference" / "limits.md").read_text()
KIB, MIB = 1 << 10, 1 << 20

SAID = (
    f"path and query | {LINE_MAX_BYTES // KIB} KiB",
    f"One header | {FIELD_MAX_BYTES // KIB} KiB",
    f"request line together | {HEAD_MAX_BYTES // KIB} KiB",
    f"Host | {HOST_MAX_BYTES} bytes",
    f"invocation | {CallLimits().body_bytes // MIB} MiB (serverless: {CallLimits().serverless_body_bytes // MIB} MiB)",
    f"AWS call | {BODY_LIMIT_BYTES // MIB} MiB (services that moto answers: {OTHERS_BODY_LIMIT_BYTES // MIB} MiB)",
    f"JSON or CBOR document | {VALUES_MAX:,}",
    f"Fields in a form | {FORM_FIELDS_MAX:,}",
    f"Parts of a form field's name | {FORM_DEPTH_MAX}",
    f"one answer counts | {VIOLATIONS_MAX:,}",
    f"XML document of S3 | {DOCUMENT_MAX_BYTES // MIB} MiB",
    f"references in an XML document | {MARKS_MAX:,}",
    f"shadow variant | {ShadowLimits().requests}, with {ShadowLimits().bytes // MIB} MiB of bodies",
    f"upload by a form | {FIELDS_MAX_BYTES // KIB} KiB",
    f"Documents of more than {INLINE_MAX_BYTES // KIB} KiB",
    f"of a new connection | {PATIENCE.head_s:g} s",
    f"bytes of a body | {PATIENCE.body_s:g} s (an upload to S3: {PATIENCE_S:g} s",
    f"Rate of a body | {PATIENCE.least_bytes_per_s:g} bytes per second on average, in each {PATIENCE.slow_s:g} s",
    f"the handshake, with [TLS](../how-to/tls.md) | {HANDSHAKE_S:g} s each",
    f"/64 network of IPv6 | {Options().connections_per_client} (",
    f"to the endpoint | {port_serving.KEEP_ALIVE_S} s",
    f"with at least {SPARE_MIN} left over",
    f"half of all of them and {GREETINGS_MAX:,} at most; {GREETED_WITHIN_S:g} s each",
    f"together | {request_bodies.ROOM_BYTES // MIB} MiB | a body waits in line for {request_bodies.ROOM_WITHIN_S:g} s",
    f"that has room | {request_bodies.WHOLE_WITHIN_S:g} s",
    f"the endpoint stops | {port_serving.GRACEFUL_S} s",
    f"processes of the endpoint | {up.SHUTDOWN_S} s",
    f"same data folder | {data_dir.LOCK_PATIENCE_S:g} s",
    f"of it is killed after {data_dir.ORPHAN_PATIENCE_S:g} s",
    f"goes on | {InstanceTiming().grace_s:g} s",
    f"into the queue | {FORWARDED_MAX}; {BEGUN_WITHIN_S:g} s until",
)


def test_the_page_says_the_numbers_that_the_code_has() -> None:
    assert [said for said in SAID if said not in PAGE] == []


def test_the_page_has_the_share_of_descriptors_for_connections() -> None:
    assert (SPARE_SHARE, GREETINGS_SHARE) == (4, 2)
    assert "three quarters" in PAGE


def test_a_stop_ends_within_five_seconds() -> None:
    assert port_serving.GRACEFUL_S + up.SHUTDOWN_S < 5
