"""Whose the bytes are that one process holds on a device: its models', or those of CUDA and the libraries.

A driver tells what a process holds, and not which model holds it. So what a model takes is found from what comes while
it enters, and from what goes while it leaves, as long as nothing else happens on the device meanwhile.

Three kinds of bytes come: a model's own, which go when it leaves; what a library takes once and keeps, such as
kernels and pools, which go when the process ends; and what arenas keep after large requests, which goes with their
models, or before them when the arenas shrink. The second kind is `kept_bytes`. The third is no model's size: it takes
room as long as it is there.
"""


class ProcessMemory:
    """The bytes of one process on a device. `budget_bytes` bounds all of them together."""

    def __init__(self, budget_bytes: int) -> None:
        self.budget_bytes = budget_bytes
        self.kept_bytes = 0
        self._sizes: dict[str, int] = {}  # what each model was measured to take as it entered

    @property
    def for_models_bytes(self) -> int:
        """What is left for models, and never below 0."""
        return max(0, self.budget_bytes - self.kept_bytes)

    def used_by_models(self, own_bytes: int) -> int:
        """What models and their arenas hold of all that the process holds."""
        return max(0, own_bytes - self.kept_bytes)

    def library_began(self, before_bytes: int, with_one_bytes: int, after_bytes: int) -> int:
        """A library has had its first model, a tiny one, which has left. What each of its models takes beside its own
        bytes."""
        self.stayed(before_bytes, after_bytes)
        return max(0, with_one_bytes - after_bytes)

    def stayed(self, before_bytes: int, after_bytes: int) -> None:
        """Something was done on the device for no model, or in vain, and what it brought is still there."""
        self.kept_bytes += max(0, after_bytes - before_bytes)

    def entered(self, name: str, before_bytes: int, after_bytes: int) -> int:
        """A model has entered, and has predicted once. Its size."""
        self._sizes[name] = max(0, after_bytes - before_bytes)
        return self._sizes[name]

    def left(self, name: str, before_bytes: int, after_bytes: int) -> int | None:
        """A model has left. Its size as known now; None if its entry was not measured.

        It gives back its arena's growth too, so it is no larger than it was at its entry; and what it brought and does
        not give back is a library's.
        """
        size_bytes = self._sizes.pop(name, None)
        given_bytes = max(0, before_bytes - after_bytes)
        if size_bytes is not None:
            self.kept_bytes += max(0, size_bytes - given_bytes)
        if not self._sizes:
            self.kept_bytes = after_bytes
        return None if size_bytes is None else min(size_bytes, given_bytes)
