"""The toolkit's logger."""

from logging import INFO, Logger, basicConfig, getLogger


def get_logger() -> Logger:
    return getLogger("sagemaker-containers")


def configure_logger(level: int = INFO, format: str | None = None) -> None:
    basicConfig(format=format or "%(asctime)s %(name)-12s %(levelname)-8s %(message)s", level=level)
