"""Runs a training job: its folders, its process and its output."""
