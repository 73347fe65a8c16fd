"""How many examples Hypothesis tries of a property that says so itself."""

from hypothesis import settings

USUAL = 20
"""Examples of a property that does not say how many, in `make test`."""
THOROUGH = 300
"""The same in `make test-thorough`."""


def tries(count: int) -> int:
    """`count` in `make test`, and as many times more in `make test-thorough` as there are for any other property."""
    return count * settings().max_examples // USUAL
