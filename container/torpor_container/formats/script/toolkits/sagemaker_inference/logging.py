"""The toolkit's logger."""

from logging import Formatter, Logger, StreamHandler, getLogger


def get_logger() -> Logger:
    return getLogger("sagemaker-inference")


def configure_logger() -> None:
    handler = StreamHandler()
    handler.setFormatter(Formatter("%(asctime)s - %(name)s - %(levelname)s - %(message)s"))
    get_logger().addHandler(handler)
