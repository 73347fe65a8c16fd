"""A second reading of the patterns in AWS's models: it decides by Java's rules whether a text matches, and makes texts.

It shares nothing with the product's translation. It needs no search: the places where a part may end are a set, so that
the time grows with the square of the text at most, and the lengths that a part can have are the bits of a number.
"""

import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property

ENDS_OF_LINES = "\n\r\u0085\u2028\u2029"
SHORT = {"d": "0123456789", "s": " \t\n\x0b\f\r"}
ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
PROBES = "a0A-/:.s_ !é大٣²\u00a0\u0000\n\u2028\U0001f600~="
"""Letters of each kind: those that a pattern takes build texts, and those that it does not take break them."""

Takes = Callable[[str], bool]


@dataclass(eq=False)
class Letter:
    """One letter of a class."""

    takes: Takes
    known: str = ""
    """Letters that the pattern names."""

    @cached_property
    def letter(self) -> str:
        return next(one for one in PROBES + self.known if self.takes(one))


@dataclass(eq=False)
class Row:
    parts: "list[Node]"


@dataclass(eq=False)
class Choice:
    ways: "list[Node]"


@dataclass(eq=False)
class Repeat:
    part: "Node"
    least: int
    most: int | None


@dataclass(eq=False)
class Look:
    part: "Node"
    behind: bool
    negative: bool


@dataclass(eq=False)
class Edge:
    at_end: bool
    before_line_end: bool


Node = Letter | Row | Choice | Repeat | Look | Edge


# -- reading ---------------------------------------------------------------------------------------------------------
class Reader:
    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0

    def whole(self) -> Node:
        node = self._choice()
        assert self._at == len(self._text), f"{self._text} at {self._at}"
        return node

    def _next(self) -> str:
        return self._text[self._at : self._at + 1]

    def _took(self, token: str) -> bool:
        if not self._text.startswith(token, self._at):
            return False
        self._at += len(token)
        return True

    def _choice(self) -> Node:
        ways: list[Node] = [self._row()]
        while self._took("|"):
            ways.append(self._row())
        return ways[0] if len(ways) == 1 else Choice(ways)

    def _row(self) -> Node:
        parts: list[Node] = []
        while self._next() not in ("", "|", ")"):
            parts.append(self._repeated(self._atom()))
        return Row(parts)

    def _repeated(self, part: Node) -> Node:
        least: int
        most: int | None
        if self._took("*"):
            least, most = 0, None
        elif self._took("+"):
            least, most = 1, None
        elif self._took("?"):
            least, most = 0, 1
        elif self._took("{"):
            inside, _, rest = self._text[self._at :].partition("}")
            low, comma, high = inside.partition(",")
            least, most = int(low), (int(high) if high else None) if comma else int(low)
            self._at = len(self._text) - len(rest)
        else:
            return part
        assert self._next() not in ("+", "?"), "neither possessive nor lazy quantifiers are in AWS's patterns"
        return Repeat(part, least, most)

    def _atom(self) -> Node:
        if self._took("("):
            look = next((one for one in ("?=", "?!", "?<=", "?<!") if self._took(one)), None)
            if look is None:
                self._took("?:")
            inside = self._choice()
            assert self._took(")")
            return inside if look is None else Look(inside, "<" in look, "!" in look)
        if self._took("["):
            return self._class()
        if self._took("."):
            return Letter(lambda one: one not in ENDS_OF_LINES)
        if self._took("^"):
            return Edge(at_end=False, before_line_end=False)
        if self._took("$"):
            return Edge(at_end=True, before_line_end=True)
        if self._took("\\A"):
            return Edge(at_end=False, before_line_end=False)
        if self._took("\\z"):
            return Edge(at_end=True, before_line_end=False)
        if self._next() == "\\":
            takes, known = self._escape()
            return Letter(takes, known)
        letter = self._next()
        self._at += 1
        return Letter(lambda one: one == letter, letter)

    def _class(self) -> Letter:
        negative, found, known = self._took("^"), [], ""
        while not self._took("]"):
            assert self._next() != "[", "no class within a class is in AWS's patterns"
            takes, low = self._escape() if self._next() == "\\" else self._plain()
            if low and self._next() == "-" and self._text[self._at + 1] != "]":
                self._at += 1
                _, high = self._escape() if self._next() == "\\" else self._plain()
                found.append(_between(low, high))
            else:
                found.append(takes)
            known += low
        return Letter(lambda one: any(takes(one) for takes in found) is not negative, known)

    def _plain(self) -> tuple[Takes, str]:
        letter = self._next()
        self._at += 1
        return (lambda one: one == letter), letter

    def _escape(self) -> tuple[Takes, str]:
        """What an escape takes, and the one letter that it stands for, if it is one."""
        if self._took("\\uD800\\uDC00-\\uDBFF\\uDFFF"):
            return _between("\U00010000", "\U0010ffff"), ""
        if self._took("\\u"):
            letter = chr(int(self._text[self._at : self._at + 4], 16))
            self._at += 4
            return (lambda one: one == letter), letter
        if self._took("\\p{"):
            name, _, _ = self._text[self._at :].partition("}")
            self._at += len(name) + 1
            return NAMED[name], ""
        letter = self._text[self._at + 1]
        self._at += 2
        if letter.lower() in "dsw":
            takes, negative = NAMED[letter.lower()], letter.isupper()
            return (lambda one: takes(one) is not negative), ""
        assert letter in ESCAPES or not letter.isalnum(), f"\\{letter} in {self._text}"
        letter = ESCAPES.get(letter, letter)
        return (lambda one: one == letter), letter


def _of_category(kind: str) -> Takes:
    return lambda one: unicodedata.category(one)[0] == kind


def _between(low: str, high: str) -> Takes:
    return lambda one: low <= one <= high


NAMED: dict[str, Takes] = {
    **{kind: _of_category(kind) for kind in "LMNPSZ"},
    "d": lambda one: one in SHORT["d"],
    "s": lambda one: one in SHORT["s"],
    "w": lambda one: one.isascii() and (one.isalnum() or one == "_"),
    "ASCII": str.isascii,
    "Print": lambda one: " " <= one <= "~",
    "Alnum": lambda one: one.isascii() and one.isalnum(),
}


@cache
def read(pattern: str) -> Node:
    return Reader(pattern).whole()


# -- matching --------------------------------------------------------------------------------------------------------
@cache
def matches(pattern: str, text: str) -> bool:
    """Whether the whole text has the pattern."""
    return len(text) in Matching(text).ends(read(pattern), 0)


class Matching:
    def __init__(self, text: str) -> None:
        self._text = text
        self._known: dict[tuple[Node, int], frozenset[int]] = {}
        self._runs: dict[Letter, list[int]] = {}

    def ends(self, node: Node, at: int) -> frozenset[int]:
        """Where the part may end that begins here."""
        key = node, at
        if key not in self._known:
            self._known[key] = frozenset(self._ends(node, at))
        return self._known[key]

    def _ends(self, node: Node, at: int) -> set[int]:
        match node:
            case Letter():
                return {at + 1} if at < len(self._text) and node.takes(self._text[at]) else set()
            case Row():
                return self._after(node.parts, {at})
            case Choice():
                return {end for way in node.ways for end in self.ends(way, at)}
            case Repeat():
                return self._repeated(node, at)
            case Look():
                return {at} if self._looks(node, at) is not node.negative else set()
            case Edge():
                return {at} if self._is_edge(node, at) else set()

    def _after(self, parts: list[Node], places: set[int]) -> set[int]:
        for part in parts:
            places = {end for place in places for end in self.ends(part, place)}
        return places

    def _repeated(self, node: Repeat, at: int) -> set[int]:
        if isinstance(node.part, Letter):
            most = len(self._text) - at if node.most is None else node.most
            return set(range(at + node.least, min(at + most, self._run(node.part, at)) + 1))
        found: set[int] = set()
        places, count = {at}, 0
        while places:
            new = places - found if count >= node.least else places
            if not new:
                break
            if count >= node.least:
                found |= new
            if count == node.most:
                break
            places = self._after([node.part], new if count >= node.least and node.most is None else places)
            count += 1
        return found

    def _run(self, letter: Letter, at: int) -> int:
        """Where the letters end that a class takes, one after the other."""
        runs = self._runs.get(letter)
        if runs is None:
            runs = self._runs[letter] = [len(self._text)] * (len(self._text) + 1)
            for place in range(len(self._text) - 1, -1, -1):
                runs[place] = runs[place + 1] if letter.takes(self._text[place]) else place
        return runs[at]

    def _looks(self, node: Look, at: int) -> bool:
        if not node.behind:
            return bool(self.ends(node.part, at))
        return any(at in self.ends(node.part, start) for start in range(at + 1))

    def _is_edge(self, edge: Edge, at: int) -> bool:
        if not edge.at_end:
            return at == 0
        rest = self._text[at:]
        return not rest or (edge.before_line_end and (rest == "\r\n" or (len(rest) == 1 and rest in ENDS_OF_LINES)))


# -- making ----------------------------------------------------------------------------------------------------------
@cache
def text_of(pattern: str, length: int) -> str | None:
    """A text of just this length that has the pattern; None if no such text is found."""
    made = Making(length).of(read(pattern), length)
    return made if made is not None and matches(pattern, made) else None


def texts_against(pattern: str, length: int) -> Iterator[str]:
    """Texts of this length that do not have the pattern."""
    body = text_of(pattern, length) or "a" * length
    for probe in PROBES if length else "":
        for text in (body[:-1] + probe, probe + body[1:], probe * length):
            if not matches(pattern, text):
                yield text


def _runs(lengths: int) -> int:
    return (lengths & ~(lengths << 1)).bit_count()


class Making:
    """Makes texts of at most `longest` letters. The lengths of a part are the bits of a number."""

    def __init__(self, longest: int) -> None:
        self._all = (1 << (longest + 1)) - 1
        self._known: dict[Node, int] = {}

    def lengths(self, node: Node) -> int:
        if node not in self._known:
            self._known[node] = self._lengths(node)
        return self._known[node]

    def _lengths(self, node: Node) -> int:
        match node:
            case Letter():
                return 2 & self._all
            case Row():
                found = 1
                for part in node.parts:
                    found = self._joined(found, self.lengths(part))
                return found
            case Choice():
                return self._any(map(self.lengths, node.ways))
            case Repeat():
                return self._powers(node)[-1] if node.most is None else self._any(self._powers(node)[node.least :])
            case Look() | Edge():
                return 1

    def _any(self, masks: "Iterator[int] | list[int] | map[int]") -> int:
        found = 0
        for mask in masks:
            found |= mask
        return found

    def _joined(self, one: int, other: int) -> int:
        """The sums of a length of one and a length of the other. It takes a step for each run of lengths, and its
        logarithm for the run, since most parts have all lengths up to some most."""
        if _runs(one) > _runs(other):
            one, other = other, one
        found = 0
        while one:
            first = (one & -one).bit_length() - 1
            run = (~(one >> first) & ((one >> first) + 1)).bit_length() - 1
            spread, spread_by = other, 1
            while spread_by < run:
                step = min(spread_by, run - spread_by)
                spread |= spread << step
                spread_by += step
            found |= spread << first
            one = one >> (first + run) << (first + run)
        return found & self._all

    def _powers(self, node: Repeat) -> list[int]:
        """The lengths of 0, 1, 2... repetitions; without a bound, the last is of `least` and more."""
        part, powers = self.lengths(node.part), [1]
        for _ in range(node.least if node.most is None else min(node.most, self._all.bit_length())):
            powers.append(self._joined(powers[-1], part))
        if node.most is None:
            closure = 1 | part
            while (wider := self._joined(closure, closure)) != closure:
                closure = wider
            powers.append(self._joined(powers[-1], closure))
        return powers

    def of(self, node: Node, length: int) -> str | None:
        if length < 0 or not self.lengths(node) >> length & 1:
            return None
        match node:
            case Letter():
                return node.letter
            case Row():
                return self._row(node.parts, length)
            case Choice():
                return next(text for way in node.ways if (text := self.of(way, length)) is not None)
            case Repeat():
                return self._repeated(node, length)
            case Look() | Edge():
                return ""

    def _row(self, parts: list[Node], length: int) -> str:
        rests = [1]
        for part in reversed(parts):
            rests.insert(0, self._joined(rests[0], self.lengths(part)))
        text = ""
        for part, rest in zip(parts, rests[1:], strict=True):
            left = length - len(text)
            own = next(n for n in range(left + 1) if self.lengths(part) >> n & 1 and rest >> (left - n) & 1)
            text += self.of(part, own) or ""
        return text

    def _repeated(self, node: Repeat, length: int) -> str:
        part = self.lengths(node.part)
        if part == 2:  # single letters
            return "".join(self.of(node.part, 1) or "" for _ in range(length))
        if node.most is None:
            any_number = Repeat(node.part, 0, None)
            if node.least:
                return self._row([*[node.part] * node.least, any_number], length)
            text, closure = "", self.lengths(any_number)
            while len(text) < length:
                left = length - len(text)
                own = next(n for n in range(1, left + 1) if part >> n & 1 and closure >> (left - n) & 1)
                text += self.of(node.part, own) or ""
            return text
        powers = self._powers(node)
        count = next(n for n in range(node.least, len(powers)) if powers[n] >> length & 1)
        return self._row([node.part] * count, length)
