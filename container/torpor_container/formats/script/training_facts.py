"""Reads a training job's facts from SM_TRAINING_ENV, as attributes. The stand-ins for training toolkits share it."""

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any


class Facts(Mapping[str, Any]):
    """The facts, by attribute or key: `facts.model_dir`, `facts["job_name"]`, `facts.channel_input_dirs["train"]`."""

    def __init__(self, **_: object) -> None:
        self._facts: dict[str, Any] = json.loads(os.environ.get("SM_TRAINING_ENV", "{}"))

    def __getattr__(self, name: str) -> Any:
        facts = self.__dict__.get("_facts", {})
        if name in facts:
            return facts[name]
        known = ", ".join(sorted(facts)) or "none: this is no training job"
        raise AttributeError(f"Torpor's stand-in has no {name} of the training job; it has {known}")

    def __getitem__(self, name: str) -> Any:
        return self._facts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)
