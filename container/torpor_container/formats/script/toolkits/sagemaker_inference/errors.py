"""The toolkit's errors. One with a status is answered with it."""


class UnsupportedFormatError(Exception):
    """A content type that no function can read or write."""

    def __init__(self, content_type: str) -> None:
        self.message = (
            f"Content type {content_type} is not supported by this framework.\n\n"
            "Please implement input_fn to to deserialize the request data or an output_fn to serialize the response."
        )
        super().__init__(self.message)


class BaseInferenceToolkitError(Exception):
    """What a script raises to answer with a status of its own."""

    def __init__(self, status_code: int, message: str, phrase: str) -> None:
        self.status_code = status_code
        self.message = message
        self.phrase = phrase
        super().__init__(status_code, message, phrase)


class GenericInferenceToolkitError(BaseInferenceToolkitError):
    def __init__(self, status_code: int, message: str | None = None, phrase: str | None = None) -> None:
        message = message or "Invalid Request"
        super().__init__(status_code, message, phrase or message)
