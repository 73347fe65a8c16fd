"""Bounds what a whole instance may take, so that neither a model nor an answer takes the machine's memory."""

from torpor_container.processes.memory import end_before_others, limit_data

STACKS_BYTES = 128 * 1024 * 1024
"""The limit counts what may be written to, also where nothing is: threads' stacks, of which a page or two is used."""
SCORE = 500
"""An instance ends before the endpoint does, and after a process of trials."""


def confine(budget_bytes: int) -> None:
    """Let this process, an instance, take no more than its budget: a load, or an answer, then fails by itself."""
    limit_data(budget_bytes + STACKS_BYTES)
    end_before_others(SCORE)
