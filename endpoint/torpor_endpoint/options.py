"""What an endpoint is started with: one table for the command line, the environment and the README."""

from dataclasses import dataclass
from pathlib import Path

PORT = 4700


@dataclass(frozen=True)
class Options:
    """Everything that `torpor up` can be told."""

    data_dir: Path = Path(".torpor")
    """SQLite, the object store, the instances' disks and logs."""
    host: str = "127.0.0.1"
    port: int = PORT
    descriptor: int | None = None
    """An inherited listening socket, instead of host and port."""
    strict: bool = False
    """`--aws-strict`: refuse what AWS refuses, fail requests at zero capacity."""
    s3_endpoint: str | None = None
    """Another S3 for artifacts, instead of the embedded one."""
    account: str = "123456789012"
    region: str = "us-east-1"
    log_level: str = "warning"

    @property
    def url(self) -> str:
        shown = "127.0.0.1" if self.host in ("0.0.0.0", "") else self.host
        return f"http://{shown}:{self.port}"

    @property
    def bind(self) -> str:
        return f"fd://{self.descriptor}" if self.descriptor is not None else f"{self.host}:{self.port}"
