"""A training job's facts."""

from torpor_container.formats.script.training_facts import Facts


class Environment(Facts):
    """As SM_TRAINING_ENV has them."""
