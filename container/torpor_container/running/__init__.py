"""How a loaded model answers: the threads and processes that run its code."""
