"""Docstrings name what is there: each name in backticks stands in the code that the docstring is about.

That code is the docstring's own folder (with all below it, for a package's head) and the modules that it imports. A
name may also be that of any module or class of the product, or somebody else's: of a library that can be imported, or
one of `FOREIGN`.
"""

import ast
import importlib.util
import pkgutil
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.helpers.source_trees import FOLDERS, ROOT, modules, parsed
from tests.test_arrows import imports, is_under, statements
from tests.test_names import classes

FOREIGN = {
    "AWS's APIs": "Cookie Maximum Metrics ModelNotReadyException ProductionVariants ValidationError "
    "ValidationException create_endpoint_config endpoint_name generate_presigned_post invoke_endpoint_async "
    "ml.m5.large model_name usageType invoke_endpoint_with_response_stream models.s3.localhost "
    "VpcConfig.Subnets sagemaker.amazonaws.com "
    "MetricData.member.1.Dimensions.member.1.Name MetricData.member.1.Unit MetricData.member.1.Value",
    "AWS's SDKs and toolkits": "Environment get_execution_role handle_error serve_utils.predict serving_mms.py",
    "frameworks": "Booster.inplace_predict XGBRegressor aialgs.data.Record f0 f1 feature_names_in_ fit "
    "inplace_predict predict save_model utils/parallel.py validate_features",
    "the system and its protocols": "POOL_SIZE _IOR chattr ps waitpid",
    "files and folders": "City.tar.gz code/inference.py endpoint/variant invocations_per_function_md.anon.dNN.csv "
    "onnx.proto3 sourcedir.tar.gz prefix/endpoint/variant/yyyy/mm/dd/hh/",
    "ends and forms of names": "_bucket _bytes _s hold_s overhead_s time_ms used_s",
}
"""Names that are no code of the product, by whose they are."""

ABILITIES = {
    re.compile(r"\bno I/O\b|(?:^|\. )Pure\."): (
        "asyncio",
        "httpx",
        "requests",
        "socket",
        "sqlite3",
        "subprocess",
        "threading",
    ),
    re.compile(r"\bno clock\b"): ("asyncio", "time.monotonic", "time.perf_counter", "time.sleep", "time.time"),
    re.compile(r"\bno randomness\b"): ("random", "secrets"),
    re.compile(r"\bno thread\b"): ("asyncio", "concurrent", "threading"),
    re.compile(r"\bneeds no Ray\b"): ("ray",),
    re.compile(r"\bimports nothing(?: and|:|\.| of the package)"): tuple(FOLDERS),
}
"""What a head says that its code lacks, with the modules that would give it."""

NAME = re.compile(r"_*[A-Za-z]\w*(?:\.\w+)*")
FILE = re.compile(r"[\w-]+\.(?:csv|gz|json|npz|onnx|pem|txt|ubj)")
VARIABLE = re.compile(r"(?:AWS|OTEL)_[A-Z_0-9]+")
PROGRAM = re.compile(r"python (?:-m |-P )?([\w.]+).*")
PATH = re.compile(r"(?:[\w-]+/)*(?:[\w-]+\.py)?|[\w-]+(?:/[\w-]+)+")
WORD = re.compile(r"\w+")


def docstrings(module: ast.AST) -> Iterator[ast.Constant]:
    """Every string that stands alone: of the module, its classes, functions, fields and tables."""
    for node in statements(module):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value


@cache
def words(path: Path) -> frozenset[str]:
    """The words of a module's code, also those in its strings, without docstrings and comments; and its own name."""
    lines = path.read_text().splitlines()
    for text in docstrings(parsed(path)):
        lines[text.lineno - 1 : text.end_lineno] = [""] * len(lines[text.lineno - 1 : text.end_lineno])
    own = path.parent.name if path.stem == "__init__" else path.stem
    return frozenset({own, *WORD.findall("\n".join(line.partition("  # ")[0] for line in lines))})


def around(path: Path) -> frozenset[str]:
    """The words of the code that a docstring of this module is about."""
    return words_of(path.parent, "**/*.py" if path.stem == "__init__" else "*.py")


@cache
def imported_by(path: Path) -> tuple[str, ...]:
    return tuple(imports(path))


@cache
def words_of(folder: Path, pattern: str) -> frozenset[str]:
    """The words of the folder's modules and of those that they import, and the names of its folders."""
    beside = sorted(folder.glob(pattern))
    ways = {way for file in beside for name in imported_by(file) for way in (name, name.rpartition(".")[0])}
    imported = {modules()[way] for way in ways & modules().keys()}
    return frozenset({below.name for below in folder.iterdir()}.union(*map(words, {*beside, *imported})))


def importable(name: str) -> bool:
    """Whether Python's library has it, or an installed one may: these are looked for, and not imported."""
    library = name.partition(".")[0]
    try:
        return bool(
            pkgutil.resolve_name(name) if library in sys.stdlib_module_names else importlib.util.find_spec(library)
        )
    except (ImportError, AttributeError):
        return False


@cache
def ends() -> frozenset[str]:
    """Every way to end the path of a module or folder of the repository: with its parents, or without."""
    tops = (ROOT / name for name in ("container", "endpoint", "sdk", "tests", "benchmarks"))
    paths = [f"/{path.relative_to(ROOT)}" for top in tops for path in (top, *top.rglob("*"))]
    return frozenset(path[slash.end() :] for path in paths for slash in re.finditer("/", path))


@cache
def foreign() -> frozenset[str]:
    return frozenset(name for names in FOREIGN.values() for name in names.split())


def stands(name: str, path: Path) -> bool:
    """Whether what a docstring of this module names is there."""
    name = name.removesuffix("()")
    if name in foreign() or FILE.fullmatch(name) or VARIABLE.fullmatch(name):
        return True
    if program := PROGRAM.fullmatch(name):
        return bool({program[1], program[1].replace(".", "/") + ".py", program[1]} & (modules().keys() | ends()))
    if PATH.fullmatch(name) and (name.endswith(".py") or name.split("/")[0] in ends()):
        return name.rstrip("/") in ends() or name.removesuffix(".py") in around(path)
    return not NAME.fullmatch(name) or is_a_name(name, path)


@cache
def by_ending() -> dict[str, list[Path]]:
    """The modules by every way to end their names: with their packages, or without."""
    found: dict[str, list[Path]] = {}
    for module, file in modules().items():
        parts = module.split(".")
        for first in range(len(parts)):
            found.setdefault(".".join(parts[first:]), []).append(file)
    return found


def is_a_name(name: str, path: Path) -> bool:
    """Whether it is a module, a class, or a name of the code around this module or of a library."""
    if name in by_ending():
        return True
    holder, _, last = name.rpartition(".")
    in_a_module = any(last in words(home) for home in by_ending().get(holder, []))
    return in_a_module or set(name.split(".")) <= around(path) or name in classes() or importable(name)


def named(path: Path) -> Iterator[str]:
    for text in docstrings(parsed(path)):
        yield from re.findall(r"`+([^`]+)`+", str(text.value))


def test_each_name_in_the_backticks_of_a_docstring_is_there() -> None:
    strange = [
        f"{module}: {name}" for module, path in modules().items() for name in named(path) if not stands(name, path)
    ]
    assert strange == []


def test_a_foreign_name_that_no_docstring_has_leaves_the_list() -> None:
    everywhere = {name for path in modules().values() for name in named(path)}
    assert sorted(foreign() - everywhere) == []


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("Residency", True),
        ("SlotSupervisor", True),
        ("released", True),
        ("core.residency", True),
        ("core.residency.Residency", True),
        ("re.compile", True),
        ("tests/helpers/", True),
        ("python -m torpor_container", True),
        ("Gryphon", False),
        ("gryphon", False),
        ("re.gryphon", False),
        ("tests/missing.py", False),
        ("tests/missing/", False),
        ("python -m torpor_missing", False),
    ],
)
def test_a_name_that_is_not_there_is_found(name: str, there: bool) -> None:
    assert stands(name, modules()["torpor_container.core.residency"]) is there


def test_a_head_that_claims_to_lack_an_ability_imports_none() -> None:
    wrong = [
        f"{module} says {claim!r}, and {file.stem} imports {found}"
        for module, path in modules().items()
        for claim, without in ABILITIES.items()
        if claim.search(ast.get_docstring(parsed(path)) or "")
        for file in (path.parent.rglob("*.py") if path.stem == "__init__" else [path])
        for found in imports(file)
        if any(is_under(found, ability) or is_under(ability, found) for ability in without)
    ]
    assert wrong == []
