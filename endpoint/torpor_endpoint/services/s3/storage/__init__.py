"""Buckets and objects as files of the data folder."""
