"""Stand-ins for packages of AWS's images that public scripts import. They have only what such scripts use.

    sagemaker_inference            content types, decoder, encoder, errors, environment, handlers, transformer
    sagemaker_containers           the older toolkit: beta.framework, with encoders, worker.Response, env, …
    sagemaker_training             the training toolkit: environment, errors, logging
    sagemaker_xgboost_container    encoder, data_utils, constants
    sagemaker_sklearn_container    the default functions
    sagemaker_algorithm_toolkit    exceptions

They are found by user scripts alone, and last of all: a package of the same name that is installed, or that lies beside
the script, wins, because whoever put it there asked for it. What is not here fails with a text that says what is:
a module as it is imported, a name as it is used.
"""

import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import NoReturn

FOLDER = os.path.dirname(__file__)
NAMES = tuple(sorted(entry.name for entry in os.scandir(FOLDER) if entry.name.startswith("sagemaker_")))


def offer() -> None:
    """Let this process import the stand-ins."""
    if FOLDER not in sys.path:
        sys.path.append(FOLDER)
        sys.meta_path.insert(0, Offered())
        sys.meta_path.append(NotOffered())


class Offered(MetaPathFinder):
    """The first finder: a name that a stand-in's module does not have is an error that says which it has."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """None for modules of other packages, also of the same name."""
        if fullname.partition(".")[0] not in NAMES:
            return None
        found = PathFinder.find_spec(fullname, path, target)
        if found is None or found.origin is None or not found.origin.startswith(FOLDER):
            return None
        found.loader = StandInLoader(fullname, found.origin)
        return found


class StandInLoader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        module.__dict__.setdefault("__getattr__", lambda name: _no_such_name(module, name))


def _no_such_name(module: ModuleType, name: str) -> NoReturn:
    package = module.__name__.partition(".")[0]
    has = ", ".join(sorted(known for known in vars(module) if not known.startswith("_"))) or "no name of its own"
    raise AttributeError(
        f"Torpor's stand-in for {module.__name__} has no {name}; it has {has}. {_instead(package)}",
        name=name,
        obj=module,
    )


def _instead(package: str) -> str:
    return f"If the script needs more, install {package.replace('_', '-')} beside Torpor: it is used instead"


class NotOffered(MetaPathFinder):
    """The last finder: its error says which parts a stand-in has, when a script imports another part."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """None for modules of other packages. Raises ImportError."""
        package, _, part = fullname.partition(".")
        if part and package in NAMES and path and any(folder.startswith(FOLDER) for folder in path):
            raise ImportError(
                f"Torpor's stand-in for {package} has no {part}; it has {', '.join(parts(package))}. "
                f"{_instead(package)}",
                name=fullname,
            )
        return None


def parts(package: str) -> list[str]:
    """The names of a stand-in's modules, as scripts import them."""
    root = os.path.join(FOLDER, package)
    return sorted(
        os.path.relpath(os.path.join(folder, name), root).removesuffix(".py").replace(os.sep, ".")
        for folder, _, names in os.walk(root)
        for name in names
        if name.endswith(".py") and not name.startswith("_")
    )
