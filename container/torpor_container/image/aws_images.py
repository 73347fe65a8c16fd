"""AWS's images that the built-in container replaces, and names that they take. It imports no framework."""

XGBOOST_IMAGE = "xgboost"
SCIKIT_LEARN_IMAGE = "scikit-learn"
IMAGES = (XGBOOST_IMAGE, SCIKIT_LEARN_IMAGE)
"""The values of TORPOR_IMAGE."""

MAX_CONTENT_BYTES = 20 * 1024**2
"""The cap on MAX_CONTENT_LENGTH in sagemaker-xgboost-container (`serving_mms.py`)."""

SELECTABLE = ("predicted_label", "labels", "probability", "probabilities", "raw_score", "raw_scores", "predicted_score")
"""The keys of SAGEMAKER_INFERENCE_OUTPUT, in the order in which an answer has them."""


def selected(text: str) -> tuple[str, ...]:
    """The keys in a value of SAGEMAKER_INFERENCE_OUTPUT. Raises ValueError for one that no objective has."""
    keys = tuple(text.replace(" ", "").lower().split(",")) if text.strip() else ()
    if unknown := [key for key in keys if key not in SELECTABLE]:
        raise ValueError(f"{unknown[0]!r} is not a key: choose from {', '.join(SELECTABLE)}")
    return keys
