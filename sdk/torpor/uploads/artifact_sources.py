"""Which artifacts local files and folders become. It reads names, and of text files
how they begin, and packs what has to be packed.

- An archive (`*.tar.gz`, `*.tgz`, `*.tar`) is an artifact already.
- A model file, as `torpor.bundle` takes it, becomes one: `City.onnx` becomes `City.tar.gz`.
- A folder with `code/inference.py` becomes one, with all of its files.
- Any other folder is searched, and each file and folder in it is one of these. Hidden files are ignored.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from torpor.bundling import CODE, FILES, MODEL_NAMES, SCRIPT, bundle, bundle_folder, is_model_file
from torpor.errors import TorporError, ValueRefused

ARCHIVE_SUFFIXES = (".tar.gz", ".tgz", ".tar")
ARTIFACT = ".tar.gz"


@dataclass(frozen=True)
class ArtifactSource:
    """A file or folder that becomes the artifact of this key, below the prefix."""

    path: Path
    key: str

    @property
    def packed(self) -> bool:
        """Whether it is an archive already."""
        return self.path.is_file() and self.path.name.endswith(ARCHIVE_SUFFIXES)


@dataclass(frozen=True)
class FoundSources:
    """What is to be uploaded, sorted by key, and the files of folders that are no models."""

    artifacts: tuple[ArtifactSource, ...]
    skipped: tuple[Path, ...] = ()


def find(paths: Sequence[Path], name: str | None = None) -> FoundSources:
    """The artifacts that these paths become. `name` is the key of the only one.

    Raises TorporError for a path that is not there or is no model, for two of one key, or where there is none.
    """
    artifacts: list[ArtifactSource] = []
    skipped: list[Path] = []
    for path in paths:
        if not path.exists():
            raise TorporError(f"{path}: there is no such file")
        if path.is_dir() and not _scripted(path):
            found = list(_searched(path))
            artifacts += [ArtifactSource(one, key) for one, key in found if key]
            skipped += [one for one, key in found if not key]
        else:
            artifacts.append(_named(path))
    if not artifacts:
        raise TorporError(f"{', '.join(map(str, paths))} has no model: model files are {FILES}, or *.tar.gz")
    if name is not None:
        artifacts = [_renamed(artifacts, name)]
    return FoundSources(tuple(_each_once(artifacts)), tuple(skipped))


def packed(source: ArtifactSource, folder: Path) -> Path:
    """The artifact's file; one that has to be packed is written into the folder. Raises TorporError."""
    if source.packed:
        return source.path
    target = folder / source.key
    if source.path.is_dir():
        return bundle_folder(source.path, target)
    return bundle(source.path, target)


def _named(path: Path) -> ArtifactSource:
    """The artifact of a path that was named itself."""
    key = _key(path, path.resolve().name)
    if not key:
        raise TorporError(
            f"{path} is no model: model files are {FILES}, or *.tar.gz. For any other, name a folder with {SCRIPT}"
        )
    return ArtifactSource(path, key)


def _searched(folder: Path) -> Iterator[tuple[Path, str]]:
    """The models below a folder with their keys; the key is empty for a file that is none."""

    def below(inner: Path) -> Iterator[tuple[Path, str]]:
        for path in sorted(inner.iterdir()):
            if path.name.startswith(".") or path.name == "__pycache__":
                continue
            if path.is_dir() and not _scripted(path):
                yield from below(path)
            else:
                yield path, _key(path, path.relative_to(folder).as_posix())

    return below(folder)


def _key(path: Path, name: str) -> str:
    """The key of a file or of a folder with a script; empty if it is no model."""
    if path.is_dir():
        return f"{name}{ARTIFACT}"
    if name.endswith(ARCHIVE_SUFFIXES):
        return name
    if not is_model_file(path):
        return ""
    return f"{name if path.name in MODEL_NAMES else name[: -len(path.suffix)]}{ARTIFACT}"


def _scripted(folder: Path) -> bool:
    return (folder / CODE).is_dir()


def _renamed(artifacts: Sequence[ArtifactSource], name: str) -> ArtifactSource:
    if len(artifacts) > 1:
        raise ValueRefused(
            f"{name} is the key of one model, and there are {len(artifacts)}: name a prefix that ends with a slash"
        )
    return replace(artifacts[0], key=name)


def _each_once(artifacts: Sequence[ArtifactSource]) -> list[ArtifactSource]:
    by_key: dict[str, ArtifactSource] = {}
    for one in sorted(artifacts, key=lambda one: one.key):
        if one.key in by_key:
            raise TorporError(f"{by_key[one.key].path} and {one.path} would both be {one.key}: rename one of them")
        by_key[one.key] = one
    return list(by_key.values())
