"""Processing jobs: one script with inputs and outputs, as a process of this machine."""
