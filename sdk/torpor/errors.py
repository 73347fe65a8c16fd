"""The errors of this package. Errors of AWS's APIs stay botocore's `ClientError`.

TorporError
├── EndpointFailed        the endpoint did not start, or its deployment failed
├── EndpointUnreachable   nothing listens at the URL
├── NotTorpor             what listens there is something else
├── NoAnswer              a call of `torpor.Caller` was sent, and no whole answer came
├── EndpointRefused       one of the endpoint's own pages answered with an error
├── ValueRefused          a value that the caller gave is not allowed
└── MissingExtra          a package that this feature needs is not installed
"""

from torpor_container.extras import how_to_install


class TorporError(Exception):
    """The message says what a person can do about it."""


class EndpointFailed(TorporError):
    """The endpoint did not start, or its deployment failed. The message says why, or ends with what the endpoint
    printed."""


class EndpointUnreachable(TorporError):
    """Nothing listens at the URL."""

    def __init__(self, url: str, reason: object = "") -> None:
        because = f" ({reason})" if reason else ""
        super().__init__(f"no endpoint answers at {url}{because}: start one with `torpor up`, or name another URL")


class NotTorpor(TorporError):
    """What listens at the URL is something else."""

    def __init__(self, url: str) -> None:
        super().__init__(f"what answers at {url} is not an endpoint of Torpor: name another URL")


class NoAnswer(TorporError):
    """A call was sent, and no whole answer came: whether the model was called is not known."""

    def __init__(self, reason: object) -> None:
        super().__init__(
            f"the call was sent, and no whole answer came ({str(reason) or type(reason).__name__}): "
            "the model may have been called; call again if it may be called twice"
        )


class EndpointRefused(TorporError):
    """One of the endpoint's own pages answered with an error, which is the message."""


class ValueRefused(TorporError, ValueError):
    """A value that the caller gave is not allowed. The message names it and says what is allowed."""


class MissingExtra(TorporError, ImportError):
    """A package that this feature needs is not installed."""

    def __init__(self, feature: str, package: str, extra: str) -> None:
        super().__init__(f"{feature} needs {package}: {how_to_install(extra)}")
