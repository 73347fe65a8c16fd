"""How to install a missing part of Torpor: the sentence with which every message about it ends."""


def how_to_install(extra: str) -> str:
    """The command that installs an extra from Torpor's checkout, since Torpor is on no package index yet."""
    return f"in Torpor's checkout, run: pip install --editable '.[{extra}]'"
