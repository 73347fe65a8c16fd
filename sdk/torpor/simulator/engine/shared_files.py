"""The files that the instances of a simulated variant share: those that they map, how many map each, and what that
makes a model cost; and what a first load leaves there for all later ones, such as a trial's verdict, or libraries.
"""

from collections import Counter
from collections.abc import Mapping

from torpor.workloads.profile import ModelProfile
from torpor_container.core.residency import Residency

REASON = "its share of a mapped file is another"


class SharedFiles:
    """One machine holds all instances of the variant. It changes sizes, and evicts nothing."""

    def __init__(self, profiles: Mapping[str, ModelProfile], imports_s: float = 0.0) -> None:
        self._profiles = profiles
        self._imports_s = imports_s
        self.any_once = imports_s > 0 or any(profile.once_s for profile in profiles.values())
        self.holders = Counter[str]()  # by model: how many instances map its file
        self._made_s: dict[str, float] = {}  # by model: when what the machine needs once for it is there
        self._imported_s: float | None = None  # when the libraries are there

    @property
    def any_shared(self) -> bool:
        """Whether there is a file that matters to several instances."""
        return self.any_once or any(profile.mapped_bytes for profile in self._profiles.values())

    def once_s(self, profile: ModelProfile, now_s: float) -> float:
        """How long a load that begins now waits for what the machine needs once: for libraries, and for the model
        alone. The first load waits as long as they take, those beside it for the rest, and later ones not at all."""
        if self._imported_s is None:
            self._imported_s = now_s + self._imports_s
        imports_s = max(0.0, self._imported_s - now_s)
        made_s = self._made_s.setdefault(profile.name, now_s + imports_s + profile.once_s)
        return max(imports_s, made_s - now_s)

    def needed_bytes(self, profile: ModelProfile) -> int:
        """What the model costs one more instance."""
        return profile.charged_bytes(self.holders[profile.name] + 1) if profile.mapped_bytes else profile.memory_bytes

    def loaded(self, profile: ModelProfile) -> int:
        """One more instance has the model in memory. What it costs there."""
        needed_bytes = self.needed_bytes(profile)
        if profile.mapped_bytes:
            self.holders[profile.name] += 1
        return needed_bytes

    def unloaded(self, profile: ModelProfile) -> None:
        if profile.mapped_bytes:
            self.holders[profile.name] -= 1

    def ended(self, memory: Residency) -> None:
        """An instance is gone, with the models that it had in memory."""
        for name, _ in memory:
            self.unloaded(self._profiles[name])

    def look(self, memory: Residency, now_s: float) -> None:
        """An instance looks at its models, as the container does before a load without room: others may map what this
        one maps, or no longer."""
        if not self.holders:
            return
        for name, model in memory:
            profile = self._profiles[name]
            if profile.mapped_bytes:
                charged_bytes = profile.charged_bytes(self.holders[name])
                if charged_bytes != model.size_bytes:
                    memory.resized(name, charged_bytes, now_s, REASON)
