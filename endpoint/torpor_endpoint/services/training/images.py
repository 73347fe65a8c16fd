"""Which training images this stand-in knows, as a table of name patterns; it pulls and runs none of them."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from types import MappingProxyType

# Shell patterns, first match wins: whether the image has an algorithm of its own, for jobs that name no script.
IMAGES: Mapping[str, bool] = MappingProxyType(
    {
        "torpor": False,
        "torpor[:@]*": False,
        "*/xgboost[:@]*": True,  # the versions up to 0.72
        "*/sagemaker-xgboost[:@]*": True,
        "*/sagemaker-scikit-learn[:@]*": False,
    }
)


def has_algorithm(image: str) -> bool | None:
    """None for an image that cannot train here."""
    return next((algorithm for pattern, algorithm in IMAGES.items() if fnmatchcase(image, pattern)), None)
