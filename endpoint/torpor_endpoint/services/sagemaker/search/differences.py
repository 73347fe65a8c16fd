"""Lists the known differences of Search from AWS by operation. An operation without an entry has no known difference."""

from collections.abc import Mapping
from typing import Final

DIFFERENCES: Final[Mapping[str, str]] = {
    "Search": "Training and tuning jobs, endpoints, models, model packages and their groups are found; other resources are refused, and so is VisibilityConditions. A property that a record lacks meets NotEquals and NotExists. "
    "Text is compared letter by letter. Records without the property of SortBy come last. A model's properties are found by their own names and as `Model.ModelName`. AWS's texts of most refusals are not known.",
    "GetSearchSuggestions": "Ten names of hyperparameters, tags and metrics at most, in alphabetical order, that begin with PropertyNameHint in any case.",
}
