"""How to install a missing part of Torpor: the sentence with which every message about it ends."""

import json
from functools import cache
from pathlib import Path


def how_to_install(extra: str, checkout: bool | None = None) -> str:
    """The command that installs an extra: from the checkout that this Torpor runs from, or beside a wheel."""
    if from_checkout() if checkout is None else checkout:
        return f"in Torpor's checkout, run: pip install --editable '.[{extra}]'"
    return f"run: pip install 'torpor[{extra}]'"


def lacks_flat_trees() -> str:
    """What it means that the extension which walks flat trees was not built, as a sentence without its end; empty if it
    was."""
    if (Path(__file__).parent / "trees" / "_walk.abi3.so").exists():
        return ""
    return (
        "Torpor was installed without a C compiler or Python's headers, so libraries answer for all models of trees, "
        "which take more memory and time (docs/explanation/flat-trees.md), and LightGBM's are not served: install "
        "both, and Torpor again"
    )


@cache
def from_checkout() -> bool:
    """Whether Torpor is installed from a checkout, to be edited, and not from a wheel (PEP 610)."""
    from importlib.metadata import PackageNotFoundError, distribution  # it takes as long as the rest of a short command

    try:
        origin = distribution("torpor").read_text("direct_url.json")
    except PackageNotFoundError:
        return True  # it is imported from its folder
    return is_editable(origin)


def is_editable(origin: str | None) -> bool:
    """Whether direct_url.json says so; a package of an index has none."""
    known = json.loads(origin) if origin else {}
    return bool(known.get("dir_info", {}).get("editable"))
