"""The record of the labels of one model of one endpoint, and how a label moves."""

from collections.abc import Mapping
from dataclasses import field, replace

from torpor_container.frozen_class import frozen


@frozen
class VersionLabels:
    """`before` has the version that each label had before its last move; 0 for a label that was new then."""

    endpoint: str
    model: str
    labels: Mapping[str, int] = field(default_factory=dict)
    before: Mapping[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the record. No endpoint's name has a slash."""
        return record_name(self.endpoint, self.model)

    def moved(self, label: str, number: int | None) -> "VersionLabels":
        """The label points to this version from now on; None removes it."""
        had = self.labels.get(label, 0)
        labels = {name: one for name, one in self.labels.items() if name != label}
        if number is not None:
            labels[label] = number
        return replace(self, labels=labels, before={**self.before, label: had})


def record_name(endpoint: str, model: str) -> str:
    return f"{endpoint}/{model}"
