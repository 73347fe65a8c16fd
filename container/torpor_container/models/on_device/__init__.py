"""The models of one instance on its device: which are there, and how one enters and leaves."""
