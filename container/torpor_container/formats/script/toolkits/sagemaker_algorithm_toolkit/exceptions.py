"""Whose fault it is."""


class BaseToolkitError(Exception):
    def __init__(self, message: str | None = None, caused_by: Exception | None = None) -> None:
        self.message = message or (str(caused_by) if caused_by else "unknown error occurred")
        self.caused_by = caused_by
        super().__init__(self.message)


class UserError(BaseToolkitError): ...


class AlgorithmError(BaseToolkitError): ...


class PlatformError(BaseToolkitError): ...
