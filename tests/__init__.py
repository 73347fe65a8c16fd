"""The tests: a package of this folder alone, although a dependency of the SageMaker SDK installs a package `tests`."""
