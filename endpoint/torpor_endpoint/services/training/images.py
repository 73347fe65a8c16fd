"""The table of training images that this stand-in knows, by name patterns. It pulls and runs none of them."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from types import MappingProxyType

# Shell patterns; the first match wins. The value: whether the image has an algorithm for jobs without a script.
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
    """Whether the image has an algorithm of its own; None for an image that cannot train here."""
    return next((algorithm for pattern, algorithm in IMAGES.items() if fnmatchcase(image, pattern)), None)
