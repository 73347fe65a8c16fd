"""Scripts import it, and seldom call it: a training script is started by Torpor itself."""

from typing import NoReturn


def run(*arguments: object, **options: object) -> NoReturn:
    raise NotImplementedError("entry_point.run is not part of Torpor's stand-in: start the script as a training job")
