"""Hosts an endpoint: in a process of its own, or in this one."""
