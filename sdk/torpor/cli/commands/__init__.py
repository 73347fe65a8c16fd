"""The subcommands of `torpor`, one module each."""
