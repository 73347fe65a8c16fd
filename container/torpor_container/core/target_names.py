"""Gives each target model its one name, however a request spells it. Texts in, texts out.

The endpoint asks policies about this name before it does anything else, and the runtime and the instances go by it. So
two spellings of one object never meet two decisions.
"""

from collections.abc import Callable
from typing import Final

KEY_MAX_BYTES: Final = 1024
"""S3's own limit, which is also TargetModel's."""


class BadTarget(ValueError):
    """A text that names no model."""

    def __init__(self, target: str, rule: str) -> None:
        super().__init__(f"Target model {target[:256]!r} {rule}. Name an object below the model prefix.")


# AWS, TargetModelHeader: length 1 to 1024, pattern `\A\S[\p{Print}]*\z`. Two rules are Torpor's: a target that some
# reader of paths would shorten is refused before any of them reads it, and so is one that a header would shorten. Empty
# segments are S3's own, and stay.
Rules = tuple[tuple[str, Callable[[str], bool]], ...]

KEY_RULES: Rules = (
    ("is longer than 1024 bytes", lambda target: len(target.encode(errors="surrogatepass")) > KEY_MAX_BYTES),
    ("holds a character that cannot be printed", lambda target: not target.isprintable()),
    ("has a '.' or '..' segment", lambda target: not {".", ".."}.isdisjoint(target.split("/"))),
)
TARGET_RULES: Rules = (
    ("is empty", lambda target: not target.removeprefix("/")),
    ("starts with white space", lambda target: target[:1].isspace()),
    ("ends with white space", lambda target: target[-1:].isspace()),
    *KEY_RULES,
)

LOST: Final = "/ "
"""What its reader drops from the beginning of a header with a target."""


def name_of(target: str) -> str:
    """The one name of a target: AWS drops one leading slash. Raises BadTarget."""
    for rule, breaks in TARGET_RULES:
        if breaks(target):
            raise BadTarget(target, rule)
    return without_slash(target)


def spelling_of(name: str) -> str:
    """A target with this name that comes whole through a header: a slash is dropped from its beginning, a blank too."""
    return f"/{name}" if name[:1] in LOST else name


def is_target(text: str) -> bool:
    """Whether the text can name a model."""
    return not any(breaks(text) for _, breaks in TARGET_RULES)


def without_slash(target: str) -> str:
    """A name, or a pattern of names, without the slash that AWS drops."""
    return target.removeprefix("/")
