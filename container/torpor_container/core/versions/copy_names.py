"""Names the two copies that an instance may hold of one model while a newer version is loaded beside the older one.

One copy has the model's own name. The other one's name ends with a `.` segment, which no target and no key has
(`target_names`).
"""

from typing import Final

MARK: Final = "/."


def model_of(copy: str) -> str:
    """The model whose copy has this name."""
    return copy.removesuffix(MARK)


def other_copy(copy: str) -> str:
    """The name of the copy beside this one."""
    return copy.removesuffix(MARK) if copy.endswith(MARK) else copy + MARK
