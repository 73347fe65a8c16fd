"""The models of one instance: which are in memory and on disk, and how one comes and leaves."""
