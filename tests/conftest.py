"""Every test finds the modules of this folder; and Hypothesis keeps no time, on machines that are shared."""

from hypothesis import settings

settings.register_profile("shared", deadline=None)
settings.load_profile("shared")
