"""The toolkit's logger."""

from logging import INFO, Logger, basicConfig, getLogger


def get_logger() -> Logger:
    return getLogger("sagemaker-training-toolkit")


def configure_logger(level: int = INFO, log_format: str | None = None) -> None:
    basicConfig(format=log_format or "%(asctime)s %(name)-12s %(levelname)-8s %(message)s", level=level)
