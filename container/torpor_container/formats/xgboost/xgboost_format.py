"""XGBoost: `.json`, `.ubj` and `.model` files, SageMaker's `xgboost-model`, and boosters that were pickled."""

from pathlib import Path
from typing import Any

from torpor_container.errors import LoadFailed
from torpor_container.formats import contents, flat_forms, pickled
from torpor_container.formats.format import (
    DATA,
    SAFE_FILES,
    ByteProof,
    Conventions,
    Format,
    Mapped,
    ServableModel,
    named,
)
from torpor_container.formats.frameworks import said_by
from torpor_container.formats.sound.one_reading import Contents, proved
from torpor_container.formats.xgboost import (
    boosters,
    dense,
    flat_serving,
    learned_categories,
    older_versions,
    written_bytes,
)
from torpor_container.formats.xgboost.boosters import Member
from torpor_container.formats.xgboost.written_bytes import EXTENSION
from torpor_container.processes.import_steps import Step

PICKLE = contents.PICKLED
JSON = b'{"'


def _text(text: bytes) -> bytes:
    """A text as XGBoost writes it in UBJSON: its length, and then its bytes."""
    return b"L%b%b" % (len(text).to_bytes(8, "big"), text)


TREES = _text(b"name") + b"S" + _text(b"gbtree") + b"}" + _text(b"learner_model_param")
"""In UBJSON, only of plain trees: keys are sorted, and dart has more after this name."""
BOOSTER, BEST = _text(b"gradient_booster") + b"{", b"best_iteration"
"""If a UBJSON model, which escapes no characters, has no such attribute before or behind its trees, all its boosting
rounds count."""

NAMES = ("xgboost-model", "xgboost-model-[0-9]*", "*.model", "*.ubj", "*.bst", "*.xgb")
_named, _documents, _all = named(*NAMES), named("*.json"), named("*")


def files(directory: Path) -> list[Path]:
    """The model files, by name. A `.json` file may be anything: its content is checked unless it is the only file."""
    documents, found = _documents(directory), _named(directory)
    if not documents:
        return found
    is_model = contents.begins_as_xgboost if _all(directory) == documents else contents.is_xgboost
    return found + [path for path in documents if is_model(path)]


def load(path: Path, conventions: Conventions) -> ServableModel:
    """Load a booster. Raises LoadFailed."""
    if is_pickle(path):
        return pickled.load(path, conventions)
    return boosters.serve_members([_read(path, conventions)], conventions)


def member(path: Path, conventions: Conventions) -> Member:
    """The booster in a file, for use with others. Raises LoadFailed."""
    return pickled.member(path, conventions) if is_pickle(path) else _read(path, conventions)


def step(path: Path) -> Step:
    """XGBoost alone, but for a pickle: that may hold an estimator with scikit-learn's interface."""
    return Step.WHOLE if is_pickle(path) else Step.BOOSTERS


def prove(path: Path) -> Contents | None:
    """A booster as UBJSON, if `written_bytes` finds it sound. Raises OSError."""
    return proved(path, (written_bytes.BEGINNING, JSON), _proved)


def _proved(content: bytes) -> bytes | None:
    content = bytes(_in_ubjson(content))
    return content if written_bytes.is_sound(content) else None


def proved_member(content: bytes, path: Path) -> Member:
    """The booster in UBJSON that was proved. Raises LoadFailed."""
    return Member(_booster(path, content), traits=_traits(content))


def _load_proved(contents: Contents, path: Path, conventions: Conventions) -> ServableModel:
    return boosters.serve_members([proved_member(contents[0], path)], conventions)


def _converted(path: Path, conventions: Conventions) -> bytes:
    from torpor_container.formats.xgboost import flat_conversion  # an instance makes none itself

    if is_pickle(path):
        return pickled.converted(path, conventions)
    return flat_conversion.converted(_read(path, conventions))


write_flat = flat_forms.writing(_converted)


def _open_flat(file: Any, mapped: Mapped, path: Path, conventions: Conventions) -> ServableModel:
    """Serve a model from its flat trees, if it may be loaded."""
    if is_pickle(path):
        return pickled.from_trees(file, mapped, path, conventions)
    _check_allowed(path, _head(path), conventions)
    return flat_serving.serve(file, mapped, conventions)


def is_pickle(path: Path) -> bool:
    head = _head(path)
    if contents.is_old_xgboost(head) and not head.startswith(PICKLE):
        return False
    return head.startswith((PICKLE, *contents.OLDEST_PICKLED, *contents.COMPRESSED))


def _read(path: Path, conventions: Conventions) -> Member:
    content = _in_ubjson(path.read_bytes())
    _check_allowed(path, bytes(content[: contents.HEAD_BYTES]), conventions)
    try:
        return Member(_booster(path, content), traits=_traits(content))
    except older_versions.OldModel as old:
        return older_versions.read(path, conventions, str(old))
    except LoadFailed:
        # Another version of XGBoost may have arrays of other types. It knows best how to read its own JSON.
        if content.startswith(JSON) or not _head(path).startswith(JSON):
            raise
    return Member(_booster(path, path.read_bytes()))


def _head(path: Path) -> bytes:
    with open(path, "rb", buffering=0) as file:
        return file.read(contents.HEAD_BYTES)


def _check_allowed(path: Path, head: bytes, conventions: Conventions) -> None:
    if conventions.trust == DATA and contents.is_old_xgboost(head):
        raise LoadFailed(
            f"{path.name} is in XGBoost's old binary format, and TORPOR_TRUST=data allows JSON and UBJSON: {SAFE_FILES}"
        )


def _traits(content: bytes | bytearray) -> boosters.BoosterTraits | None:
    """The traits in the model's bytes, which most have: to ask a booster takes a call on another thread. None if the
    booster must be asked."""
    before, behind = content.find(BOOSTER), content.rfind(TREES)
    if not 0 <= before < behind or content.find(BEST, 0, before) >= 0 or content.find(BEST, behind) >= 0:
        return None
    return boosters.BoosterTraits(categorical=learned_categories.may_be_in(content))


def _booster(path: Path, content: bytes | bytearray) -> Any:
    """The booster. Raises LoadFailed, or OldModel for a model that only older versions of XGBoost read."""
    from xgboost import Booster
    from xgboost.core import XGBoostError

    if not content:
        raise LoadFailed(f"{path.name} is empty")  # XGBoost itself would end the process
    booster = Booster()
    try:
        # From memory, XGBoost distinguishes JSON and UBJSON by content; from a file, by a name that may be wrong.
        dense.load(booster, content)
    except UnicodeDecodeError as error:  # XGBoost's own message holds what it found there, and is no text then
        raise _unread(path, content, "it is neither JSON nor UBJSON") from error
    except XGBoostError as error:
        raise _unread(path, content, said_by(error)) from error
    return booster


def _unread(path: Path, content: bytes | bytearray, said: str) -> Exception:
    if older_versions.drops_binary() and contents.is_old_xgboost(bytes(content[: contents.HEAD_BYTES])):
        return older_versions.OldModel.in_old_format(path)
    return LoadFailed(f"{path.name} is not a model that XGBoost can read: {said}")


def _in_ubjson(content: bytes) -> bytes | bytearray:
    """JSON as XGBoost writes it as UBJSON, which XGBoost reads in a tenth of the time; anything else as it is."""
    written = EXTENSION.ubjson(content) if EXTENSION is not None and content.startswith(JSON) else None
    return content if written is None else written


FORMAT = Format(
    boosters.XGBOOST,
    files,
    load,
    bytes_per_artifact_byte=1.35,
    fixed_bytes=64 * 1024,
    frameworks=("xgboost",),
    mapped=flat_forms.form(__name__, _open_flat),
    by_malloc=True,
    step=step,
    proof=ByteProof(prove, _load_proved),
)
