"""The packages of each extra, and the check that they are installed before a feature starts. It imports none of
them."""

from collections.abc import Mapping
from importlib.util import find_spec

from torpor.errors import MissingExtra

PACKAGES: Mapping[str, tuple[str, ...]] = {
    "cli": ("typer", "rich"),
    "endpoint": ("starlette", "gunicorn", "httptools", "prometheus_client", "awscrt"),
    "container": (
        "starlette",
        "gunicorn",
        "httptools",
        "obstore",
        "numpy",
        "xgboost",
        "sklearn",
        "skops",
        "joblib",
        "onnxruntime",
    ),
    "simulator": ("numpy",),
    "tune": ("optuna", "numpy"),
    "parquet": ("pyarrow",),
    "pandas": ("pandas",),
    "plots": ("matplotlib", "numpy"),
}
"""By extra, the modules that its features import."""


def require(feature: str, *extras: str, packages: Mapping[str, tuple[str, ...]] = PACKAGES) -> None:
    """Raises MissingExtra, which names the missing package and the command that installs it."""
    for extra in extras:
        if package := missing(extra, packages):
            raise MissingExtra(feature, package, extra if len(extras) == 1 else "all")


def missing(extra: str, packages: Mapping[str, tuple[str, ...]] = PACKAGES) -> str | None:
    """The first package of an extra that is not installed; None if all are."""
    return next((package for package in packages[extra] if find_spec(package) is None), None)
