"""`torpor.AsyncCall`: one asynchronous request, and its result once it is there."""

import time
from collections.abc import Callable
from typing import Any

from torpor.calling.bodies import decode
from torpor.calling.connection import EndpointConnection
from torpor.errors import NoResult
from torpor.pages import async_requests
from torpor_endpoint.core.async_inference.requests import AsyncState
from torpor_endpoint.core.pages.async_requests import AsyncRequestRow

POLL_S = 0.02
POLL_SHARE = 0.05
POLL_MOST_S = 2.0


class AsyncCall:
    """An asynchronous request that the endpoint has accepted. `s3` is a boto3 client of S3."""

    def __init__(self, connection: EndpointConnection, s3: Any, answer: dict[str, Any]) -> None:
        """`answer` is that of InvokeEndpointAsync."""
        self.inference_id: str = answer["InferenceId"]
        self.output: str = answer["OutputLocation"]
        """The address of the result."""
        self.failure: str | None = answer.get("FailureLocation")
        """The address of the failure object, which is there only if the request fails."""
        self._connection = connection
        self._s3 = s3

    def __repr__(self) -> str:
        return f"<torpor.AsyncCall {self.inference_id}>"

    def status(self) -> AsyncRequestRow:
        """Where the request is now."""
        found = async_requests.requests(self._connection, id=self.inference_id)
        return next(one for one in found if one.output == self.output)

    def done(self) -> bool:
        """Whether it has ended, with a result or without one."""
        return self.status().over

    def cancel(self) -> bool:
        """Cancel it if it still waits. False if it runs or has ended."""
        return any(one.output == self.output for one in async_requests.cancel(self._connection, self.inference_id))

    def result(self, timeout_s: float | None = None, *, sleep: Callable[[float], None] = time.sleep) -> Any:
        """Wait for the result, and return it: a JSON object as its value, CSV as numbers, npy as an array, and any
        other as bytes.

        Raises NoResult if the request fails, expires or is cancelled, TimeoutError after `timeout_s` seconds (the
        request goes on then), and ValueError for a result that is not what its type says.
        """
        began_s = time.monotonic()
        while not (found := self.status()).over:
            waited_s = time.monotonic() - began_s
            if timeout_s is not None and waited_s >= timeout_s:
                raise TimeoutError(f"request {self.inference_id} is {found.state} after {timeout_s:g} s")
            sleep(min(POLL_MOST_S, max(POLL_S, POLL_SHARE * waited_s)))
        if found.state != AsyncState.COMPLETED:
            raise NoResult(self.inference_id, found.state, found.reason)
        bucket, _, key = self.output.removeprefix("s3://").partition("/")
        answer = self._s3.get_object(Bucket=bucket, Key=key)
        return decode(answer["Body"].read(), answer.get("ContentType", ""), f"its bytes are the object {self.output}")
