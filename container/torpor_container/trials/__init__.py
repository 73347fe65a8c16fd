"""Trials: a version of an artifact is loaded in a process of its own before the instance loads it.

Work on a version that has passed, for which no request waits, goes the same way afterwards: `trial_process.Afterwork`.
"""
