"""`torpor.Caller`: against a server that records its requests, and against a real endpoint."""

import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from inspect import signature

import pytest
from boto3.session import Session
from botocore.exceptions import ClientError
from botocore.loaders import Loader
from hypothesis import given, settings
from hypothesis import strategies as st

import torpor
from tests.helpers.example_counts import tries
from tests.sdk.helpers.recording_server import Received, RecordingServer, Reply, reply, served, session_of
from tests.sdk.helpers.small_models import CITIES, ROWS, answers
from torpor.calling.caller import Caller
from torpor.errors import EndpointUnreachable, NoAnswer, TorporError

ROW = ",".join(map(str, ROWS[0])).encode()
BUSY = reply(429, {"x-amzn-errortype": "ModelNotReadyException:", "retry-after": "3"}, b'{"Message": "wait"}')
FULL = reply(503, {"x-amzn-errortype": "ServiceUnavailable:"}, b'{"Message": "full"}')
SLOW = reply(400, {"x-amzn-errortype": "ThrottlingException:"}, b"{}")
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\0"), min_size=1, max_size=30)
WITHIN_S = 60.0


def caller_of(server: RecordingServer, **options: object) -> Caller:
    return Caller(server.url, session=session_of(), **options)  # type: ignore[arg-type]


# -- what is sent --------------------------------------------------------------------------------------------------
MEMBERS = {
    "target_model": "TargetModel",
    "content_type": "ContentType",
    "accept": "Accept",
    "target_variant": "TargetVariant",
    "custom_attributes": "CustomAttributes",
    "inference_id": "InferenceId",
    "target_container_hostname": "TargetContainerHostname",
    "inference_component_name": "InferenceComponentName",
    "enable_explanations": "EnableExplanations",
    "session_id": "SessionId",
    "prefix_aware_id": "PrefixAwareId",
}


def test_every_member_of_the_operation_has_its_argument() -> None:
    model = Loader().load_service_model("sagemaker-runtime", "service-2")
    members = set(model["shapes"]["InvokeEndpointInput"]["members"])
    assert set(signature(Caller.invoke).parameters) == {"self", "endpoint", "body", *MEMBERS}
    assert members == {"EndpointName", "Body", *MEMBERS.values()}


def said(received: Received) -> tuple[str, bytes, dict[str, str]]:
    """The headers without the signature and the user agent."""
    own = ("x-amz", "amz-sdk", "authorization", "user-agent", "accept-encoding")
    kept = {name: value for name, value in received.headers.items() if not name.startswith(own) or "sagemaker" in name}
    return received.path, received.body, kept


def test_a_request_is_the_one_that_boto3_sends() -> None:
    with served() as server, caller_of(server) as caller:
        boto3 = Session("AKIA", "secret").client("sagemaker-runtime", "us-east-1", endpoint_url=server.url)

        @settings(max_examples=tries(16))
        @given(texts, st.binary(max_size=50), st.dictionaries(st.sampled_from(sorted(MEMBERS)), texts))
        def both(endpoint: str, body: bytes, members: dict[str, str]) -> None:
            caller.invoke(endpoint, body, **members)
            boto3.invoke_endpoint(
                EndpointName=endpoint, Body=body, **{MEMBERS[name]: value for name, value in members.items()}
            )
            ours, theirs = server.received[-2:]
            assert said(ours) == said(theirs)

        both()
        boto3.close()


def test_a_header_that_would_be_two_is_refused() -> None:
    with served() as server, caller_of(server) as caller:
        with pytest.raises(ValueError, match="x-amzn-sagemaker-target-model has a line break"):
            caller.invoke("houses", target_model="a\r\nhost: elsewhere")
        with pytest.raises(ValueError, match="endpoint is empty"):
            caller.invoke("")
        assert server.received == []


@pytest.mark.parametrize("body", [[1, 2, 3], 5, None])
def test_a_body_that_is_neither_bytes_nor_text_is_refused_before_it_is_sent(body: object) -> None:
    with served() as server, caller_of(server) as caller:
        with pytest.raises(TypeError, match=f"a body is bytes or text, not {type(body).__name__}"):
            caller.invoke("houses", body)  # type: ignore[arg-type]  # that is the point
        assert server.received == []


def test_text_is_sent_as_utf8_and_bytes_are_sent_unchanged() -> None:
    with served() as server, caller_of(server) as caller:
        for body in ("Zürich", bytearray(b"ab"), memoryview(b"cd")):
            caller.invoke("houses", body)
        assert [one.body for one in server.received] == ["Zürich".encode(), b"ab", b"cd"]


# -- what comes back -----------------------------------------------------------------------------------------------
def test_an_answer_has_the_members_of_boto3s() -> None:
    headers = {
        "Content-Type": "text/csv",
        "x-Amzn-Invoked-Production-Variant": "blue",
        "X-Amzn-SageMaker-Custom-Attributes": "trace=7",
        "x-amzn-RequestId": "request-1",
        "Server-Timing": "load;dur=11.9, predict;dur=0.5",
    }
    with served(reply(200, headers, b"1,2")) as server, caller_of(server) as caller:
        answer = caller.invoke("houses", ROW)
    assert (answer.status, answer.body, answer.content_type) == (200, b"1,2", "text/csv")
    assert (answer.invoked_production_variant, answer.custom_attributes) == ("blue", "trace=7")
    assert (answer.request_id, answer.steps_ms) == ("request-1", {"load": 11.9, "predict": 0.5})


def test_members_that_an_answer_lacks_are_empty() -> None:
    chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\n4.2\r\n0\r\n\r\n"
    with served(Reply(chunked)) as server, caller_of(server) as caller:
        answer = caller.invoke("houses", ROW)
    assert (answer.body, answer.content_type, answer.custom_attributes, answer.steps_ms) == (b"4.2", "", "", {})


# -- connections ---------------------------------------------------------------------------------------------------
def test_a_connection_is_kept_and_one_that_the_server_closed_is_not_used() -> None:
    with served(reply(), Reply(reply().raw, hangs_up=True), reply()) as server, caller_of(server) as caller:
        caller.invoke("houses", ROW)
        caller.invoke("houses", ROW)
        assert server.hung_up.wait(WITHIN_S)
        caller.invoke("houses", ROW)
    first, second, third = (one.connection for one in server.received)
    assert first == second != third


def test_a_connection_that_the_server_ends_is_given_up() -> None:
    with served(reply(200, {"connection": "close"}), reply()) as server, caller_of(server) as caller:
        assert [caller.invoke("houses", ROW).body for _ in range(2)] == [b"4.2", b"4.2"]
    assert len({one.connection for one in server.received}) == 2


def test_a_process_that_forks_shares_no_connection() -> None:
    script = """
import os, sys, torpor
from botocore.session import Session
session = Session()
session.set_credentials("AKIA", "secret")
caller = torpor.Caller(sys.argv[1], session=session)
caller.invoke("parent")
child = os.fork()
caller.invoke("child" if child == 0 else "parent")
if child:
    assert os.waitpid(child, 0)[1] == 0
caller.close()
"""
    with served() as server:
        subprocess.run([sys.executable, "-c", script, server.url], check=True)
    used = {(one.path.split("/")[2], one.connection) for one in server.received}
    assert len(server.received) == 3
    assert sorted(name for name, _ in used) == ["child", "parent"]
    assert len({connection for _, connection in used}) == 2


def test_a_closed_caller_raises_an_error() -> None:
    with served() as server:
        with caller_of(server) as caller:
            caller.invoke("houses", ROW)
        with pytest.raises(TorporError, match="this caller is closed: make another"):
            caller.invoke("houses", ROW)


# -- what is repeated ----------------------------------------------------------------------------------------------
def test_a_call_that_the_service_did_not_begin_is_retried_after_a_wait() -> None:
    waited_s: list[float] = []
    with served(BUSY, FULL, SLOW, reply()) as server, caller_of(server, attempts=4, sleep=waited_s.append) as caller:
        assert caller.invoke("houses", ROW).body == b"4.2"
    assert len(server.received) == 4
    assert waited_s[0] == 3.0
    assert 0 <= waited_s[1] <= 2 >= waited_s[2] / 2 >= 0


def test_the_last_attempts_refusal_is_raised() -> None:
    with served(BUSY) as server, caller_of(server, attempts=2, sleep=lambda wait_s: None) as caller:
        with pytest.raises(torpor.InvokeError, match="wait") as refusal:
            caller.invoke("houses", ROW)
    assert (refusal.value.code, refusal.value.status, len(server.received)) == ("ModelNotReadyException", 429, 2)


@pytest.mark.parametrize("broken", [b"", b"HTTP/1.1 200", reply(body=b"4.2").raw[:-1], b"nonsense\r\n\r\n"])
def test_an_answer_that_broke_off_is_not_asked_for_again(broken: bytes) -> None:
    with served(Reply(broken, hangs_up=True)) as server, caller_of(server) as caller:
        with pytest.raises(NoAnswer, match="no whole answer came"):
            caller.invoke("houses", ROW)
    assert len(server.received) == 1


def test_an_answer_that_does_not_come_is_not_waited_for_without_end() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with Caller(url, session=session_of(), answer_within_s=0.05) as caller:
            with pytest.raises(NoAnswer, match="timed out"):
                caller.invoke("houses", ROW)


def test_a_call_that_reached_no_server_is_retried() -> None:
    with socket.socket() as bound:  # nobody else gets its port, and nobody can connect to it
        bound.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        with Caller(url, session=session_of(), answer_within_s=0.05, sleep=lambda wait_s: bound.listen()) as caller:
            with pytest.raises(NoAnswer):  # it was sent now; who listens says nothing
                caller.invoke("houses", ROW)


def test_the_error_of_an_unreachable_endpoint_names_its_url() -> None:
    with Caller("http://127.0.0.1:9", session=session_of(), attempts=1) as caller:
        with pytest.raises(EndpointUnreachable, match=r"http://127\.0\.0\.1:9 "):
            caller.invoke("houses", ROW)


# -- a real endpoint -----------------------------------------------------------------------------------------------
def test_every_model_gives_its_own_answer_to_any_thread(endpoint: torpor.Local) -> None:
    expected = {city: answers()[0] + 100 * number for number, city in enumerate(CITIES)}

    def off(city: str) -> float:
        answer = caller.invoke(endpoint.name, ROW, target_model=city, content_type="text/csv", accept="text/csv")
        assert answer.invoked_production_variant == endpoint.variant
        assert "predict" in answer.steps_ms
        return float(abs(float(answer.body) - expected[city]))

    with endpoint.caller() as caller, ThreadPoolExecutor(8) as threads:
        assert max(threads.map(off, CITIES * 20)) < 3


def test_an_endpoint_refuses_as_it_refuses_boto3(endpoint: torpor.Local) -> None:
    with endpoint.caller() as caller:
        with pytest.raises(ClientError, match="Failed to download model data") as ours:
            caller.invoke(endpoint.name, ROW, target_model="nowhere.tar.gz")
    with pytest.raises(ClientError) as theirs:
        endpoint.invoke("nowhere.tar.gz", ROW)
    assert ours.value.response["Error"] == theirs.value.response["Error"]
