"""XGBoost: `.json`, `.ubj` and `.model` files, SageMaker's `xgboost-model`, and boosters that were pickled."""

from pathlib import Path
from typing import Any

from torpor_container.errors import LoadFailed
from torpor_container.formats import boosters, pickled
from torpor_container.formats.format import Conventions, Format, Model, named

FIRST_KEY = b"learner"
"""Every JSON and UBJSON model opens with it; other JSON files in an artifact do not."""
PICKLE = b"\x80"


def _text(text: bytes) -> bytes:
    """As XGBoost writes it in UBJSON: its length, and then itself."""
    return b"L%b%b" % (len(text).to_bytes(8, "big"), text)


TREES = _text(b"name") + b"S" + _text(b"gbtree") + b"}" + _text(b"learner_model_param")
"""In UBJSON, of plain trees alone: keys are sorted, and dart has more after this name."""
BEST = b"best_iteration"
"""Where this is nowhere in a UBJSON model, which escapes no letters, all its boosting rounds count."""

OLD = (b"binf", b"bs64")
"""How files in the binary format begin that XGBoost 3.1 and later no longer read. The oldest have no such head."""
OLD_BOOSTERS = tuple(len(name).to_bytes(8, "little") + name for name in (b"gbtree", b"gblinear", b"dart"))
"""One of these stands near the beginning of any such file."""


def files(directory: Path) -> list[Path]:
    return named("xgboost-model", "*.model")(directory) + named("*.json", "*.ubj", holding=FIRST_KEY)(directory)


def load(path: Path, conventions: Conventions) -> Model:
    """Raises LoadFailed."""
    with path.open("rb") as file:
        if file.read(1) == PICKLE:
            return pickled.load(path, conventions)
    content = _content(path)
    return boosters.serve(_booster(path, content), conventions, traits=_traits(content))


def _traits(content: bytearray) -> boosters.Traits | None:
    """What a model says itself, which most do: to ask a booster takes a trip to another thread and back. None if it
    must be asked."""
    return boosters.Traits() if content.rfind(TREES) >= 0 and BEST not in content else None


def _booster(path: Path, content: bytearray) -> Any:
    from xgboost import Booster
    from xgboost.core import XGBoostError

    if not content:
        raise LoadFailed(f"{path.name} is empty")  # XGBoost itself would end the process
    booster = Booster()
    try:
        # From memory XGBoost tells JSON from UBJSON by content; from a file, by a name that need not be right.
        booster.load_model(content)
    except UnicodeDecodeError as error:  # XGBoost's own message holds what it found there, and is no text then
        raise LoadFailed(_unread(path, content, "it is neither JSON nor UBJSON")) from error
    except XGBoostError as error:
        raise LoadFailed(_unread(path, content, str(error).splitlines()[0])) from error
    return booster


def _unread(path: Path, content: bytearray, said: str) -> str:
    head = bytes(content[:512])
    if head.startswith(OLD) or any(name in head for name in OLD_BOOSTERS):
        return (
            f"{path.name} was saved in XGBoost's old binary format, which XGBoost 3.1 and later no longer read: "
            "load it with an older XGBoost and save it as .json or .ubj"
        )
    return f"{path.name} is not a model that XGBoost can read: {said}"


def _content(path: Path) -> bytearray:
    """All of a file, held once."""
    content = bytearray(path.stat().st_size)
    with path.open("rb", buffering=0) as file, memoryview(content) as whole:
        at = 0
        while count := file.readinto(whole[at:]):
            at += count
    return content


FORMAT = Format(
    boosters.XGBOOST,
    files,
    load,
    bytes_per_artifact_byte=1.35,
    fixed_bytes=64 * 1024,
    frameworks=("xgboost",),
    by_malloc=True,
)
