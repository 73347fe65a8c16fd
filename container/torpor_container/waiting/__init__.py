"""Waits on a busy machine: looks at what a process does, and time limits that count quiet time."""
