"""Benchmarks. None of them asserts a time, since machines differ, and shared machines differ from minute to minute."""
