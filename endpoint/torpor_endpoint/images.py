"""Which program serves a container `Image`: a table of name patterns, and nothing that pulls or runs."""

from collections.abc import Mapping
from enum import StrEnum
from fnmatch import fnmatchcase
from itertools import chain
from types import MappingProxyType


class ContainerKind(StrEnum):
    BUILT_IN = "built-in"  # Torpor's own container


# Shell patterns, first match wins. AWS names these images
# <account>.dkr.ecr.<region>.amazonaws.com/<repository>:<tag>; the account differs by region, so it is not looked at.
IMAGES: Mapping[str, ContainerKind] = MappingProxyType(
    {
        "torpor": ContainerKind.BUILT_IN,
        "torpor[:@]*": ContainerKind.BUILT_IN,
        "*/xgboost[:@]*": ContainerKind.BUILT_IN,  # the versions up to 0.72
        "*/sagemaker-xgboost[:@]*": ContainerKind.BUILT_IN,
        "*/sagemaker-scikit-learn[:@]*": ContainerKind.BUILT_IN,
    }
)


def container_kind(image: str, more: Mapping[str, ContainerKind] = MappingProxyType({})) -> ContainerKind | None:
    """The kind of container that serves `image`, or None when nothing here can. The patterns in `more` come first."""
    rows = chain(more.items(), IMAGES.items())
    return next((kind for pattern, kind in rows if fnmatchcase(image, pattern)), None)
