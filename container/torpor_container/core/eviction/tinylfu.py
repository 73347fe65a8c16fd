"""TinyLFU admission: an unpopular newcomer is served and leaves at once (Einziger and others, ACM ToS 2017).

Room is made before a model is loaded, so no newcomer can be refused. But a model that has served its callers need not
stay: its room is free for the next newcomer, and the popular models stay.
"""

from collections import OrderedDict

from torpor_container.core.eviction.eviction_policy import MayLeave, Policy


class Popularity:
    """Counts recent uses, of residents and others: all counts are halved after every `SAMPLE` uses per resident.

    So there are never more names than uses in that sample, few enough to count them exactly instead of in a sketch.
    """

    SAMPLE = 10

    def __init__(self) -> None:
        self._uses: dict[str, int] = {}
        self._seen = 0

    def used(self, name: str, residents: int) -> None:
        self._uses[name] = self._uses.get(name, 0) + 1
        self._seen += 1
        if self._seen >= self.SAMPLE * residents:
            self._uses = {known: uses // 2 for known, uses in self._uses.items() if uses > 1}
            self._seen //= 2

    def of(self, name: str) -> int:
        return self._uses.get(name, 0)


class TinyLFU(Policy):
    """LRU, but a newcomer stays only if there is room for one more like it, or if it is more popular than the oldest.

    The policy decides once, when the first callers have been served. A model that leaves too early, as with traffic in
    sessions, must be loaded again.
    """

    selective = True

    def __init__(self) -> None:
        self._oldest_first: OrderedDict[str, int] = OrderedDict()
        self._visitors: set[str] = set()
        self._popularity = Popularity()

    def added(self, name: str, size_bytes: int, cost_s: float) -> None:
        self._oldest_first[name] = size_bytes
        self._visitors.add(name)
        self._popularity.used(name, len(self._oldest_first))

    def touched(self, name: str) -> None:
        self._oldest_first.move_to_end(name)
        self._popularity.used(name, len(self._oldest_first))

    def removed(self, name: str) -> None:
        del self._oldest_first[name]
        self._visitors.discard(name)

    def victim(self, may_leave: MayLeave) -> str | None:
        return next(filter(may_leave, self._oldest_first), None)

    def keeps(self, name: str, free_bytes: int) -> bool:
        if name not in self._visitors:
            return True
        oldest = next(iter(self._oldest_first))
        popular = oldest == name or self._popularity.of(name) > self._popularity.of(oldest)
        if popular or free_bytes >= self._oldest_first[name]:
            self._visitors.remove(name)
            return True
        return False
