"""`torpor.Caller`: signed InvokeEndpoint calls, at a fraction of boto3's processor time.

It works with Torpor and with AWS, and has this one operation only. It blocks: with asyncio, call it through
`asyncio.to_thread`.
"""

import random
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.metadata import version
from typing import Any
from urllib.parse import quote

from botocore.session import get_session

from torpor.calling.answer import Answer
from torpor.calling.connection_pool import Post, Unsent, connections
from torpor.calling.defaults import ANSWER_WITHIN_S
from torpor.calling.destination import Destination
from torpor.calling.invoke_errors import refused
from torpor.calling.retrying import Retries, may_repeat
from torpor.calling.signature_v4 import PATHS_CACHED, SignedPost, Signer
from torpor.errors import EndpointUnreachable


class Caller:
    """Calls endpoints. It is safe for threads; use it in a with-statement, or `close` it."""

    def __init__(
        self,
        endpoint_url: str | None = None,
        *,
        region: str | None = None,
        session: Any = None,
        attempts: int = 3,
        connect_within_s: float = 10.0,
        answer_within_s: float = ANSWER_WITHIN_S,
        proxied: bool = True,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Call `endpoint_url`, else `AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME`, `AWS_ENDPOINT_URL`, or AWS itself.

        Region and credentials are those of `session`, a botocore session, else of botocore's usual chain. A call that
        the service has not begun is repeated, up to `attempts` attempts. `answer_within_s` is the longest wait for each
        further piece of an answer. `proxied`: an https URL is reached by the environment's proxy, if it names one.
        `sleep` waits between two attempts. Raises botocore's NoRegionError and
        NoCredentialsError.
        """
        self._to = Destination.found(endpoint_url, region, session or get_session(), proxied=proxied)
        self._signer = Signer(self._to.region, self._to.service_model.signing_name)
        self._retries = Retries(attempts)
        self._sleep = sleep
        self._post = Post(connections(self._to.address, connect_within_s), answer_within_s)
        self._host, self._prefix = self._to.host, self._to.prefix
        self._agent = f"torpor/{version('torpor')}"

    def __enter__(self) -> "Caller":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<torpor.Caller of {self.url}>"

    @property
    def url(self) -> str:
        return self._to.url

    def close(self) -> None:
        """Close the connections. A call in flight still gets its answer."""
        self._post.close()

    def invoke(
        self,
        endpoint: str,
        body: bytes | bytearray | memoryview | str = b"",
        *,
        target_model: str | None = None,
        content_type: str | None = None,
        accept: str | None = None,
        target_variant: str | None = None,
        custom_attributes: str | None = None,
        inference_id: str | None = None,
        target_container_hostname: str | None = None,
        inference_component_name: str | None = None,
        enable_explanations: str | None = None,
        session_id: str | None = None,
        prefix_aware_id: str | None = None,
    ) -> Answer:
        """Call an endpoint, or one of its models. A text is sent as UTF-8.

        Raises InvokeError, a ClientError as boto3's, if SageMaker refuses the call, and its subclass ModelError if the
        model's container refuses it; EndpointUnreachable; NoAnswer; ValueError for a value that no header can have;
        TypeError for a body of another type.
        """
        members = {
            "accept": accept,
            "content-type": content_type,
            "x-amzn-sagemaker-custom-attributes": custom_attributes,
            "x-amzn-sagemaker-enable-explanations": enable_explanations,
            "x-amzn-sagemaker-inference-component": inference_component_name,
            "x-amzn-sagemaker-inference-id": inference_id,
            "x-amzn-sagemaker-prefix-aware-id": prefix_aware_id,
            "x-amzn-sagemaker-session-id": session_id,
            "x-amzn-sagemaker-target-container-hostname": target_container_hostname,
            "x-amzn-sagemaker-target-model": target_model,
            "x-amzn-sagemaker-target-variant": target_variant,
        }
        headers = {"host": self._host, **{name: value for name, value in members.items() if value is not None}}
        _check(headers)
        return self._answered(SignedPost(path_of(self._prefix, endpoint), headers, _content(body)))

    def _answered(self, request: SignedPost) -> Answer:
        """The answer of the first attempt that gets one."""
        attempt = 0
        while True:
            attempt += 1
            answer = self._attempted(request)
            if isinstance(answer, Answer):
                return answer
            failure, retry_after = answer
            wait_s = self._retries.wait_s(attempt, retry_after, random.random())
            if wait_s is None:
                raise failure
            self._sleep(wait_s)

    def _attempted(self, request: SignedPost) -> "Answer | tuple[Exception, str]":
        """An answer; or the failure and its `Retry-After`, if the call may be repeated."""
        try:
            answer = self._post.send(self._written(request))
        except Unsent as unsent:
            return EndpointUnreachable(self.url, unsent.__cause__), ""
        if 200 <= answer.status < 300:
            return answer
        refusal = refused(answer, self._to.service_model)
        if not may_repeat(refusal.status, refusal.code):
            raise refusal
        return refusal, answer.headers.get("retry-after", "")

    def _written(self, request: SignedPost) -> bytes:
        """The request as bytes, signed now."""
        headers = self._signer.signed(request, self._to.credentials.get_frozen_credentials(), time.time())
        lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
        length = f"content-length: {len(request.body)}\r\nuser-agent: {self._agent}\r\n\r\n"
        return f"POST {request.path} HTTP/1.1\r\n{lines}{length}".encode() + request.body


def _check(headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        if "\n" in value or "\r" in value or "\0" in value:
            raise ValueError(f"{name} has a line break or a null, which no header can have: {value!r}")


def _content(body: bytes | bytearray | memoryview | str) -> bytes:
    """The body as bytes. `bytes(...)` alone would also accept a list of numbers, and turn a number into zeroes."""
    if not isinstance(body, bytes | bytearray | memoryview | str):
        raise TypeError(
            f"a body is bytes or text, not {type(body).__name__}: write rows yourself, such as "
            "frame.to_csv(index=False) with content_type='text/csv; header=present'"
        )
    return body.encode() if isinstance(body, str) else bytes(body)


@lru_cache(PATHS_CACHED)
def path_of(prefix: str, endpoint: str) -> str:
    """The quoted path of InvokeEndpoint. Raises ValueError."""
    if not endpoint:
        raise ValueError("endpoint is empty: name the endpoint to call")
    return f"{prefix}/endpoints/{quote(endpoint, safe='-._~')}/invocations"
