"""Reads the code blocks of a page, each with what a comment above it says about its run.

    <!-- run: no, it needs Docker -->        The block is not run, for this reason.
    <!-- run: with java -->                  The block is run where this program is installed.
    <!-- run: figures vary -->               Numbers and widths of the shown output are not compared.
    <!-- run: soon -->                       The same, and a command is run again until it prints what is shown.
    <!-- run: file code/inference.py -->     The block is that file, which later blocks use.
    <!-- run: printed -->                    The block is what the Python block before it prints.
    <!-- run: after tutorial.md -->          Anywhere in a page: the page begins where that page ends,
                                             with names of its own.

In an output, `…` stands for any part of a line; as a line of its own, for any lines.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from shutil import which

PARSED = ("toml", "json", "yaml")
RUN = ("python", "console")
SHOWN = ("", "text", "csv", "hcl")
MARK = r"(?:^<!-- run: (?P<mark>[^\n]*) -->\n)?"
BLOCK = re.compile(MARK + r"^```(?P<language>[^\n]*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"<!--(.*?)-->", re.DOTALL)
AFTER = re.compile(r"^<!-- run: after (\S+) -->$", re.MULTILINE)
ANY_MARK = re.compile(r"^<!-- run: (.*)", re.MULTILINE)
FIGURES_VARY, SOON = "figures vary", "soon"
KINDS = re.compile(rf"no, \S.{{9,}}|{FIGURES_VARY}|{SOON}|printed|with \w+|file [\w./-]+")
NUMBER = re.compile(r"<?\$?\d[\d,.:]*")
DATE_OF_A_TIME = re.compile(r"\d{4}-\d\d-\d\d (?=\d\d:\d\d:\d\d)")
"""Printed where the time is of another day, as it is after midnight."""


@dataclass(frozen=True)
class Block:
    """A code block. `line` is where it begins in its page, for messages."""

    language: str
    text: str
    mark: str = ""
    line: int = 1

    @property
    def runs(self) -> bool:
        return self.language in RUN and not self.mark.startswith(("no,", "file ")) and not self._lacks_its_program

    @property
    def varies(self) -> bool:
        """Whether the figures of its output vary."""
        return self.mark in (FIGURES_VARY, SOON)

    @property
    def _lacks_its_program(self) -> bool:
        return self.mark.startswith("with ") and which(self.mark.removeprefix("with ")) is None

    @property
    def file(self) -> str | None:
        return self.mark.removeprefix("file ") if self.mark.startswith("file ") else None


@dataclass(frozen=True)
class Command:
    """A line of a console block after its prompt, and what the block shows as its output."""

    line: str
    output: str


def blocks(text: str) -> list[Block]:
    return [_block(found, text.count("\n", 0, found.start()) + 1) for found in BLOCK.finditer(text)]


def _block(found: re.Match[str], line: int) -> Block:
    return Block(found["language"], found["text"], found["mark"] or "", line + (found["mark"] is not None))


def comments(text: str) -> list[str]:
    """The comments of a page, which its readers do not see."""
    return COMMENT.findall(text)


def before(page: Path) -> list[Path]:
    """The pages that this page continues, the first one first."""
    earlier = [(page.parent / name).resolve() for name in AFTER.findall(page.read_text())]
    return [found for one in earlier for found in [*before(one), one]]


def commands(block: Block) -> list[Command]:
    """The commands of a console block. A backslash at the end of a line continues the command."""
    found: list[Command] = []
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        line = re.match(r"(?:[^\n]*\\\n)*[^\n]*", part)
        assert line is not None
        found.append(Command(line[0], part[line.end() + 1 :]))
    return found


def matches(shown: str, printed: str, figures_vary: bool = False) -> bool:
    """Whether this is the output that the page shows. Spaces at the end of a line do not count, nor does the newline
    that a command writes for a terminal only."""
    pattern = "".join(_pattern(line, figures_vary) for line in shown.strip("\n").splitlines())
    lines = [_narrow(line, figures_vary) for line in printed.strip("\n").splitlines()]
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in lines)) is not None


def _pattern(line: str, figures_vary: bool) -> str:
    if line.strip() == "…":
        return r"(?:[^\n]*\n)*"
    parts = _narrow(line, figures_vary).split("…")
    return "[^\n]*".join(_with_numbers(part) if figures_vary else re.escape(part) for part in parts) + "\n?"


def _narrow(line: str, figures_vary: bool) -> str:
    if not figures_vary:
        return line.rstrip()
    return re.sub(r"([ ─═━])[ ─═━]*", r"\1", DATE_OF_A_TIME.sub("", line)).strip()


def _with_numbers(text: str) -> str:
    return NUMBER.pattern.join(re.escape(part) for part in NUMBER.split(text))
