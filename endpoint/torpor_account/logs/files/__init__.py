"""Reads log groups from the files that instances write, and finds the time of each line."""
