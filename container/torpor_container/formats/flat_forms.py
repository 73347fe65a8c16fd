"""The mapped form of models of trees: their flat trees, whatever format the models have."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from torpor_container.formats.format import Conventions, Mapped, MappedForm, ServableModel
from torpor_container.trees import flat_trees, walking
from torpor_container.trees.flat_trees import NotFlat

Convert = Callable[[Path, Conventions], bytes]
"""The file of a model's flat trees, proved to answer as its library does; `note` among their facts says how. Raises
NotFlat, and as a load does."""
Open = Callable[[Any, Mapped, Path, Conventions], ServableModel]
"""Serves a model from the bytes of the file that it maps, without its library. The path is the model's own file. Raises
UnsoundTrees, and LoadFailed where the conventions do not allow such a model."""

WRITE_FLAT = "write_flat"
"""The name of each format's `MappedForm.prove`."""
PRIVATE_BYTES = 16 * 1024
"""What a model takes beside its file: measured, with room for what is made of the columns' names."""


def form(module: str, open: Open) -> MappedForm:
    """The form of a format. Its module has a function `write_flat`."""
    return MappedForm(
        kind=f"trees-{flat_trees.VERSION}",
        least_bytes=0,
        prove=f"{module}:{WRITE_FLAT}",
        open=lambda path, mapped, conventions: open(walking.mapped(mapped.path), mapped, path, conventions),
        alone=True,
        private_bytes=PRIVATE_BYTES,
    )


def writing(convert: Convert) -> Callable[[Mapping[str, str], Sequence[int]], dict[str, str]]:
    """See `MappedForm.prove`: writes the flat trees of a model, if they answer as it does."""

    def write_flat(arguments: Mapping[str, str], descriptors: Sequence[int]) -> dict[str, str]:
        try:
            content = convert(Path(arguments["path"]), Conventions())
        except NotFlat as why:
            return {"refused": str(why)}
        with open(descriptors[0], "wb", closefd=False) as file:
            file.write(content)
        return {"note": str(flat_trees.facts(content).get("note", ""))}

    return write_flat
