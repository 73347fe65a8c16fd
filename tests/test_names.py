"""One name, one thing: each class name stands for one class, and each word of the glossary lives in a module."""

import ast
import re
from collections import Counter, defaultdict
from functools import cache

from tests.helpers.source_trees import ROOT, modules, parsed

CLASS = re.compile(r"^ *class (\w+)[(:\[]", re.MULTILINE)
SHARED: dict[str, str] = {}
"""Class names that may stand for several classes, and why."""

GLOSSARY = (ROOT / "docs/glossary.md").read_text()
ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| `([\w.]+)` \|$", re.MULTILINE)


@cache
def classes() -> dict[str, list[str]]:
    """Each class name of the four packages, with its modules. Stand-ins for AWS's toolkits have AWS's names."""
    found = defaultdict(list)
    for module, path in modules().items():
        if "toolkits" not in module:
            for name in CLASS.findall(path.read_text()):
                found[name].append(module)
    return found


def test_each_class_name_stands_for_one_class() -> None:
    assert {name: where for name, where in classes().items() if len(where) > 1 and name not in SHARED} == {}


def test_a_shared_name_that_is_shared_no_longer_leaves_the_list() -> None:
    assert [name for name in SHARED if len(classes()[name]) < 2] == []


def test_each_word_of_the_glossary_lives_in_a_module_that_exists() -> None:
    rows = ROW.findall(GLOSSARY)
    assert len(rows) == len(re.findall(r"^\| (?!word|---)", GLOSSARY, re.MULTILINE))
    assert {word: module for word, _, module in rows if module not in modules()} == {}


def test_the_glossary_explains_each_word_once() -> None:
    words = Counter(word for words, _, _ in ROW.findall(GLOSSARY) for word in words.split(", "))
    assert [word for word, count in words.items() if count > 1] == []


REPEATED_MAX = 23
REPEATED: dict[str, str] = {
    "__init__": "the head of a package",
    "__main__": "what `python -m` runs, one a package",
    "app": "the ASGI application of its room",
    "async_requests": "one page: its record, its answer, its reader, and the command that shows it",
    "clock": "one page: its record, its answer and its reader; and the clock itself",
    "context": "what the operations of one service act on",
    "costs": "one page: what it computes, and its record",
    "denials": "one page: its record, its answer and its reader",
    "differences": "how one service differs from AWS",
    "errors": "the errors of one service or package, a row each",
    "ledger": "one page: what it decides, its answer and its reader",
    "lifecycle": "the record and the stages of one kind of thing",
    "operations": "the operations of one family, and their table",
    "own_models": "one page: its record, its answer and what finds it",
    "router": "the router's program, and the command that runs it",
    "rules": "the rules of one service that AWS's model lacks",
    "service": "one service: its operations in one table",
    "shapes": "one service's wire shapes to records and back",
    "state": "one page: its record and its reader",
    "transform_jobs": "one page: its record and its reader",
    "up": "the start of an endpoint, and the command that runs it",
    "what_if": "one page: its record, and the simulator's answer",
}
"""File names that stand in several rooms, and what the folder makes of each. AWS's toolkits have AWS's."""


@cache
def file_names() -> dict[str, list[str]]:
    """Each file name of the packages, with its places."""
    found = defaultdict(list)
    for path in modules().values():
        if "toolkits" not in path.parts:
            found[path.stem].append(str(path.relative_to(ROOT)))
    return found


def test_a_file_name_that_stands_in_several_rooms_is_the_same_thing_of_another_kind() -> None:
    assert {name: where for name, where in file_names().items() if len(where) > 1 and name not in REPEATED} == {}


def test_few_file_names_are_repeated() -> None:
    assert len(REPEATED) < REPEATED_MAX
    assert [name for name in REPEATED if len(file_names()[name]) < 2] == [], (
        "what is repeated no longer leaves the list"
    )


def test_no_module_has_the_name_of_what_its_package_defines() -> None:
    """Such a module is found by neither name: the package's attribute is the one or the other."""
    hidden = {}
    for name, path in modules().items():
        if path.name == "__init__.py":
            inside = {one.stem for one in path.parent.glob("*.py")} | {one.name for one in path.parent.glob("*/")}
            body = parsed(path).body
            defined = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
            if both := defined & inside:
                hidden[name] = both
    assert hidden == {}
