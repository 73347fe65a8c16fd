"""How to install a part of Torpor that is missing: the one sentence that every message about it ends with."""


def how_to_install(extra: str) -> str:
    """The command that brings an extra. Torpor is on no package index yet, so it is installed from its own checkout."""
    return f"in Torpor's checkout, run: pip install --editable '.[{extra}]'"
