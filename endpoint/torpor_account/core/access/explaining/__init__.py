"""Says why a caller may or may not: statements that matched, policies that were looked at, denials as values."""
