"""The pytest plugin: a session endpoint on a free port."""
