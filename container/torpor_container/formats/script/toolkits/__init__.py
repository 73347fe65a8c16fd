"""Stand-ins for the packages that AWS's images have and public scripts import: what such scripts use of them, no more.

    sagemaker_inference            content types, decoder, encoder, errors, environment, handlers, transformer
    sagemaker_containers           the older toolkit: beta.framework, with encoders, worker.Response, env, …
    sagemaker_training             the training toolkit: environment, errors, logging
    sagemaker_xgboost_container    encoder, data_utils, constants
    sagemaker_sklearn_container    the default functions
    sagemaker_algorithm_toolkit    exceptions

They are found by user scripts alone, and last of all: a package of the same name that is installed, or that lies beside
the script, wins, because whoever put it there asked for it. What is not here fails to import with a text that says so.
"""

import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

FOLDER = os.path.dirname(__file__)
NAMES = tuple(sorted(entry.name for entry in os.scandir(FOLDER) if entry.name.startswith("sagemaker_")))


def offer() -> None:
    """Let this process import them."""
    if FOLDER not in sys.path:
        sys.path.append(FOLDER)
        sys.meta_path.append(NotOffered())


class NotOffered(MetaPathFinder):
    """Asked last of all: says what there is, where a script imports a part that is not."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """None for what is nobody's business here. Raises ImportError."""
        package, _, part = fullname.partition(".")
        if part and package in NAMES and path and any(folder.startswith(FOLDER) for folder in path):
            raise ImportError(
                f"Torpor's stand-in for {package} has no {part}; it has {', '.join(parts(package))}. "
                f"If the script needs more, install {package.replace('_', '-')} beside Torpor: it is used instead",
                name=fullname,
            )
        return None


def parts(package: str) -> list[str]:
    """The modules of a stand-in, as they are imported."""
    root = os.path.join(FOLDER, package)
    return sorted(
        os.path.relpath(os.path.join(folder, name), root).removesuffix(".py").replace(os.sep, ".")
        for folder, _, names in os.walk(root)
        for name in names
        if name.endswith(".py") and not name.startswith("_")
    )
