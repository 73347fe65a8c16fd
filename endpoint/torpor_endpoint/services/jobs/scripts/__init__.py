"""Runs the script of a job as a process of its own: its folder, its command, its output, its end."""
