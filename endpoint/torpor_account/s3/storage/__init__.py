"""Stores buckets and objects as folders and files of the data folder."""
