"""`torpor tune`: what it may choose from, its search, its live runs, and what it prints and writes."""
