"""Training on one host: there is no other here."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any


def rabit_run(
    exec_fun: Callable[..., Any],
    args: Mapping[str, Any],
    include_in_training: bool,
    hosts: Sequence[str],
    current_host: str,
    *more: object,
    **options: object,
) -> None:
    """Run the function as the master, which one host alone is."""
    if len(hosts) > 1:
        raise NotImplementedError("distributed training is not part of Torpor's stand-in")
    exec_fun(**{**args, "is_master": True})
