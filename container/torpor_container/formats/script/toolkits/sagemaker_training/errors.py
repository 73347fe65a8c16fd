"""The toolkit's errors."""


class ClientError(Exception):
    """What is the user's."""


class UnsupportedFormatError(Exception):
    """A content type that no function can read or write."""

    def __init__(self, content_type: str) -> None:
        self.message = f"Content type {content_type} is not supported by this framework."
        super().__init__(self.message)
