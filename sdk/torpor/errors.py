"""The errors of this package. Errors of AWS's APIs stay botocore's `ClientError`.

TorporError
├── EndpointFailed        the endpoint did not start, or its deployment failed
├── EndpointUnreachable   nothing listens at the URL
├── NotTorpor             what listens there is something else
├── IsRouter              what listens there is a router, which answers invocations alone
├── NoAnswer              a call of `torpor.Caller` was sent, and no whole answer came
├── NoResult              an asynchronous request failed, expired, or was cancelled
├── EndpointRefused       one of the endpoint's own pages answered with an error
├── ValueRefused          a value that the caller gave is not allowed
└── MissingExtra          a package that this feature needs is not installed
"""

from torpor_container.how_to_install import how_to_install

NO_HTTPS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG", "HTTP_REQUEST")
"""How OpenSSL calls an answer that is not TLS."""
SPEAKS_HTTPS = "speaks HTTPS"
"""What a port with TLS says to a request without."""


class TorporError(Exception):
    """The message says what a person can do about it."""


class EndpointFailed(TorporError):
    """The endpoint did not start, or its deployment failed. The message says why, or ends with what the endpoint
    printed."""


class EndpointUnreachable(TorporError):
    """Nothing listens at the URL, or what does speaks no HTTPS, or its certificate is not trusted."""

    def __init__(self, url: str, reason: object = "") -> None:
        if type(reason).__name__ == "SSLCertVerificationError":  # by its name: few callers need the module ssl
            super().__init__(
                f"the certificate of {url} is not trusted ({reason}): set "
                "AWS_CA_BUNDLE to its authority's file, as `torpor env --data-dir FOLDER` prints it"
            )
            return
        if getattr(reason, "reason", "") in NO_HTTPS:
            http = url.replace("https://", "http://", 1)
            super().__init__(f"what listens at {url} does not speak HTTPS: try {http}, and name it by `torpor env`")
            return
        because = f" ({reason})" if reason else ""
        super().__init__(f"no endpoint answers at {url}{because}: start one with `torpor up`, or name another URL")


class NotTorpor(TorporError):
    """What listens at the URL is something else."""

    def __init__(self, url: str, answer: str = "") -> None:
        if SPEAKS_HTTPS in answer and url.startswith("http://"):
            https = url.replace("http://", "https://", 1)
            super().__init__(f"what listens at {url} speaks HTTPS: name it as {https}, or evaluate `torpor env`")
            return
        super().__init__(f"what answers at {url} is not an endpoint of Torpor: name another URL")


class IsRouter(TorporError):
    """A router was asked for what only its control has."""

    def __init__(self, url: str, control: str | None) -> None:
        where = "" if control is None else f", which is {control}"
        super().__init__(f"{url} is a router, which answers invocations alone: name its control{where}")


class NoAnswer(TorporError):
    """A call was sent, and no whole answer came: whether the model was called is not known."""

    def __init__(self, reason: object) -> None:
        super().__init__(
            f"the call was sent, and no whole answer came ({str(reason) or type(reason).__name__}): "
            "the model may have been called; call again if it may be called twice"
        )


class NoResult(TorporError):
    """An asynchronous request failed, expired, or was cancelled. The message says why."""

    def __init__(self, inference_id: str, state: str, reason: str) -> None:
        super().__init__(f"request {inference_id} has no result: it is {state}{f' ({reason})' if reason else ''}")
        self.state = state
        self.reason = reason


class EndpointRefused(TorporError):
    """One of the endpoint's own pages answered with an error, which is the message."""


class ValueRefused(TorporError, ValueError):
    """A value that the caller gave is not allowed. The message names it and says what is allowed."""


class MissingExtra(TorporError, ImportError):
    """A package that this feature needs is not installed."""

    def __init__(self, feature: str, package: str, extra: str) -> None:
        super().__init__(f"{feature} needs {package}: {how_to_install(extra)}")
