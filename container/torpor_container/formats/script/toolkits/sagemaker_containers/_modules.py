"""Modules by name. Torpor imports a script itself, and installs nothing for it here."""

import importlib

DEFAULT_MODULE_NAME = "default_user_module_name"


def exists(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True
