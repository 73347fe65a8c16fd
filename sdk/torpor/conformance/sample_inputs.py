"""What is sent and loaded: bodies with their media types, and artifacts of models."""

import hashlib
import tarfile
from dataclasses import dataclass
from pathlib import Path

ARCHIVES = (".tar.gz", ".tgz", ".tar")
CSV = "text/csv"
LINES = (CSV, "application/jsonlines", "text/libsvm", "text/x-libsvm")
"""The media types whose records are lines."""
JSON = "application/json"


@dataclass(frozen=True)
class Sample:
    """One body that the container answers with success."""

    content_type: str
    body: bytes
    is_default: bool = False

    @property
    def has_lines(self) -> bool:
        return self.content_type.partition(";")[0].strip().lower() in LINES

    def repeated(self, times: int) -> "Sample":
        """The sample's lines so many times."""
        return Sample(self.content_type, self._ended * times)

    def grown(self, size_bytes: int) -> "Sample":
        """As many of the sample's lines as fit; JSON with white space after it; any other body with zeros."""
        if self.has_lines:
            return self.repeated(max(1, size_bytes // max(1, len(self._ended))))
        filler = b" " if self.content_type.startswith(JSON) else b"\0"
        return Sample(self.content_type, self.body + filler * max(0, size_bytes - len(self.body)))

    @property
    def _ended(self) -> bytes:
        return self.body if self.body.endswith(b"\n") else self.body + b"\n"


DEFAULT_SAMPLE = Sample(CSV, b"1,2,3,4\n", is_default=True)


@dataclass(frozen=True)
class ModelArtifact:
    """A model that can be loaded: the name by which a caller knows it, and the folder that the container reads."""

    target: str
    folder: Path


def model_id(seed: str) -> str:
    """A name as SageMaker gives to a model: opaque, hexadecimal, one segment of a path."""
    return hashlib.sha256(seed.encode()).hexdigest()[:32]


def unpacked(target: str, path: Path, models_dir: Path) -> ModelArtifact:
    """A folder as it is, or an archive unpacked to `<models_dir>/<id>/model`, as SageMaker lays it out.

    Raises OSError, tarfile.TarError.
    """
    if path.is_dir():
        return ModelArtifact(target, path.resolve())
    folder = models_dir.resolve() / model_id(f"{target} {path.resolve()}") / "model"
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path) as archive:
        archive.extractall(folder, filter="data")
    return ModelArtifact(target, folder)
