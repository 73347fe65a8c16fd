"""Where a request goes, as every router decides it: the order of slots, weights, handovers, second copies; and what a
control and its routers share: limits, the differences of a table, sums, session names."""
