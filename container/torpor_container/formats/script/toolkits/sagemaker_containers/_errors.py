"""The toolkit's errors."""


class ClientError(Exception):
    """What is the user's."""


class ImportModuleError(ClientError): ...


class InstallModuleError(ClientError): ...


class ExecuteUserScriptError(ClientError): ...


class ChannelDoesNotExistException(Exception):
    def __init__(self, channel_name: str) -> None:
        super().__init__(f"Channel {channel_name} is not a valid channel")


class UnsupportedFormatError(Exception):
    """A content type that no function can read or write."""

    def __init__(self, content_type: str) -> None:
        self.message = (
            f"Content type {content_type} is not supported by this framework.\n\n"
            "Please implement input_fn to to deserialize the request data or an output_fn to serialize the response."
        )
        super().__init__(self.message)
