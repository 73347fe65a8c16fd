"""Says how the process of an instance ended."""


def exit_reason(code: int) -> str:
    """In words. The exit code is negative for a signal."""
    if code == 0:
        return "it ended"
    return f"its process was ended by signal {-code}" if code < 0 else f"its process ended with exit code {code}"
