"""Connections, and how answers are framed on them."""

from torpor.conformance.container import CheckedContainer
from torpor.conformance.container_client import NoContainerAnswer
from torpor.conformance.judging import RuleBroken, expect
from torpor.conformance.rule import Level, Source, rule
from torpor_container import wire


@rule(
    "answer-length",
    Level.SHOULD,
    says="An asynchronous endpoint fails an answer that does not specify the required Content-Length header; HTTP/1.1 "
    "needs it, or chunks, to tell a whole answer from one that broke off.",
    source=Source.ASYNC_LENGTH,
    mend="Send Content-Length, or Transfer-Encoding: chunked.",
    needs=("invoke",),
)
def an_answer_says_where_it_ends(container: CheckedContainer) -> None:
    answer = container.invoke()
    framed = "content-length" in answer.headers or "chunked" in answer.headers.get("transfer-encoding", "")
    expect(framed, "the answer to an invocation has neither Content-Length nor chunks", answer)


@rule(
    "keep-alive",
    Level.SHOULD,
    says="A server that does not support persistent connections must send the close connection option.",
    source=Source.HTTP_1,
    mend="Keep a connection open after an answer, or send Connection: close with the answer.",
    needs=("invoke",),
)
def a_connection_stays_or_is_said_to_end(container: CheckedContainer) -> None:
    sample, path = container.material.sample, container.invocation_path()
    sent = sample.body, container.invocation_headers(sample)
    with container.client.connected(container.limits.invoke_s) as connection:
        first = connection.send("POST", path, *sent, within_s=container.limits.invoke_s)
        if first.closes:
            return
        try:
            connection.send("POST", path, *sent, within_s=container.limits.invoke_s)
        except NoContainerAnswer as error:
            raise RuleBroken(f"the connection ended after an answer that did not say so: {error}") from None


@rule(
    "connection-close",
    Level.SHOULD,
    says="A server that receives a close connection option must initiate closure of the connection after it sends the "
    "final response.",
    source=Source.HTTP_1,
    mend="Close the connection after the answer to a request with Connection: close.",
    needs=("ping-in-time",),
)
def a_connection_ends_when_the_caller_says_so(container: CheckedContainer) -> None:
    closed = container.client.closes_after("GET", wire.PING, container.limits.ping_s)
    expect(closed, f"{container.limits.ping_s:g} s after Connection: close, the connection was still open")
