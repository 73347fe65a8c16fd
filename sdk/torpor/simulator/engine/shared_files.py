"""The files that the instances of a simulated variant map: how many map each, and what that makes a model cost."""

from collections import Counter
from collections.abc import Mapping

from torpor.workloads.profile import ModelProfile
from torpor_container.core.residency import Residency

REASON = "its share of a mapped file is another"


class SharedFiles:
    """One machine holds all instances of the variant. It changes sizes, and evicts nothing."""

    def __init__(self, profiles: Mapping[str, ModelProfile]) -> None:
        self._profiles = profiles
        self.holders = Counter[str]()  # by model: how many instances map its file

    @property
    def any_mapped(self) -> bool:
        """Whether there is a file that instances may map together."""
        return any(profile.mapped_bytes for profile in self._profiles.values())

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
