"""Runs a processing job: its folders, its inputs, its command, its outputs."""
