"""One name, one thing: each class name stands for one class, and each word of the glossary lives in a module."""

import re
from collections import Counter, defaultdict
from functools import cache

from tests.test_arrows import ROOT, modules

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
