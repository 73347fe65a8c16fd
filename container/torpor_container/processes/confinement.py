"""Limits the memory of a whole instance, so that neither a model nor an answer takes all of the machine's memory."""

from torpor_container.processes.memory import end_before_others, limit_data

STACKS_BYTES = 128 * 1024 * 1024
"""Room for the stacks of threads: the limit counts all writable memory, though a stack uses only a page or two."""
SCORE = 500
"""When memory runs out, the kernel ends an instance before the endpoint, and after a process of trials."""


def confine(budget_bytes: int) -> None:
    """Limit this process, an instance, to its budget: a load or an answer that needs more fails alone."""
    limit_data(budget_bytes + STACKS_BYTES)
    end_before_others(SCORE)
