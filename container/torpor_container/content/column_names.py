"""Matches the names that a request gives its columns to the names that a model was fitted with.

The rule is that of the frameworks' own `predict`. XGBoost (`validate_features`) and scikit-learn
(`feature_names_in_`) raise when a frame's names differ from the model's, and both take positions when either side has
no names.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from torpor_container.errors import BadInput

NAMES_SHOWN = 10
NUMBERED = ("f", "x", "Column_", "column_")
"""The prefixes of generated column names, before the column's number: those of XGBoost, then scikit-learn's, LightGBM's
and polars'."""


NO_ORDER = (
    "the model has no names for its columns, and the order of these is not defined: {}. Send rows as lists, "
    "such as instances, or each instance's features"
)


def places(given: Sequence[object], known: Sequence[str] | None, in_order: bool = True) -> list[int] | None:
    """For each of the model's columns, its place among the given ones. None if they are in the model's order, or if one
    side has no names. Raises BadInput, which lists names that are unknown, missing, or there twice."""
    counted = given == list(range(len(given)))  # pandas counts the columns of a frame without names
    names = [str(name) for name in given]
    if known is None:
        if counted:
            return None
        known = numbered(names)
        if known is None and not in_order:
            raise BadInput.of_rows(NO_ORDER.format(listed(names)))
    if known is None or names == list(known):
        return None
    if Counter(names) != Counter(known):
        if counted:
            return None
        raise BadInput.of_rows(misnamed(names, known))
    at = {name: place for place, name in enumerate(names)}
    return [at[name] for name in known]


def numbered(names: Sequence[str]) -> list[str] | None:
    """The names in the order of their numbers, if they are `f0`, `f1`, … or the like, each once; else None."""
    for prefix in NUMBERED:
        expected = [f"{prefix}{number}" for number in range(len(names))]
        if Counter(expected) == Counter(names):
            return expected
    return None


def misnamed(given: Sequence[str], known: Sequence[str], what: str = "columns") -> str:
    unknown, missing = set(given) - set(known), set(known) - set(given)
    wrong = {
        "unknown": [_with_hint(name, missing) for name in sorted(unknown)],
        "missing": sorted(missing),
        "more than once": sorted(name for name, count in Counter(given).items() if count > 1),
    }
    faults = "; ".join(f"{fault}: {listed(names)}" for fault, names in wrong.items() if names)
    return f"the names of the {what} are not the model's: {faults}"


def listed(names: Iterable[str]) -> str:
    shown = list(names)
    return ", ".join(shown[:NAMES_SHOWN]) + (" and more" if len(shown) > NAMES_SHOWN else "")


def _with_hint(name: str, missing: Iterable[str]) -> str:
    if not name or name.startswith("Unnamed: "):
        return f"{name or 'a column without a name'} (pandas writes its index so: to_csv(index=False) leaves it out)"
    near = nearest(name, missing)
    return f"{name} (did you mean {near}?)" if near else name


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like this one, without regard to case and spaces; None if none is."""
    plain = {"".join(one.split()).casefold(): one for one in sorted(known)}
    found = get_close_matches("".join(name.split()).casefold(), plain, n=1, cutoff=0.7)
    return plain[found[0]] if found else None
