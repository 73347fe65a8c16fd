"""Starts programs of Python from a process that has imported what they import: each is a fork of it, so that many
starts import once. A program that is started so is what it would be with a Python of its own, but for what that
imports sooner; and it gets SIGTERM when the process that runs the tests ends, however that ends."""
