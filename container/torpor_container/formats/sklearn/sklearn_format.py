"""scikit-learn: estimators saved by joblib, pickle or skops."""

from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from torpor_container.errors import LoadFailed
from torpor_container.formats import flat_forms, pickled
from torpor_container.formats.format import ByteProof, Conventions, Format, Mapped, ServableModel, named
from torpor_container.formats.sklearn import estimators, flat_estimators
from torpor_container.formats.sound import plain_forests
from torpor_container.formats.sound.one_reading import Contents, proved

SKOPS = ".skops"


def load(path: Path, conventions: Conventions) -> ServableModel:
    """Load an estimator. Raises LoadFailed."""
    if path.suffix.lower() == SKOPS:
        return estimators.serve(_read_skops(path), conventions)
    return pickled.load(path, conventions)


def _prove(path: Path) -> Contents | None:
    """The proof is of a pickle. A zip archive may begin with one, and skops reads what is behind it."""
    return None if path.suffix.lower() == SKOPS else proved(path, plain_forests.FILES_BEGIN, _proved)


def _proved(content: bytes) -> bytes | None:
    return content if plain_forests.is_sound(content) else None


def _load_proved(contents: Contents, path: Path, conventions: Conventions) -> ServableModel:
    return pickled.load_content(contents[0], path, conventions)


def _converted(path: Path, conventions: Conventions) -> bytes:
    if path.suffix.lower() == SKOPS:
        from torpor_container.formats.sklearn import estimators_to_trees  # an instance makes none itself

        return estimators_to_trees.converted(_read_skops(path))
    return pickled.converted(path, conventions)


write_flat = flat_forms.writing(_converted)


def _open_flat(file: Any, mapped: Mapped, path: Path, conventions: Conventions) -> ServableModel:
    if path.suffix.lower() == SKOPS:
        return flat_estimators.serve(file, mapped, conventions)
    return pickled.from_trees(file, mapped, path, conventions)


def _read_skops(path: Path) -> Any:
    """Load an object of types that skops knows to be safe: an unknown type could run code."""
    import skops.io

    try:
        unknown = skops.io.get_untrusted_types(file=path)
        if not unknown:
            return skops.io.load(path, trusted=[])
    except (BadZipFile, OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise LoadFailed(f"{path.name} is not a skops file: {type(error).__name__}: {error}") from error
    raise LoadFailed(f"{path.name} holds types that skops does not trust: {', '.join(unknown)}")


FORMAT = Format(
    estimators.SCIKIT_LEARN,
    named("*.joblib", "*.pkl", "*.pickle", f"*{SKOPS}"),
    load,
    bytes_per_artifact_byte=1.5,
    fixed_bytes=64 * 1024,
    frameworks=("joblib", "sklearn.base", "sklearn.utils"),
    mapped=flat_forms.form(__name__, _open_flat),
    proof=ByteProof(_prove, _load_proved),
)
