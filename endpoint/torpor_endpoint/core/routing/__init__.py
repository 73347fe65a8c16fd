"""What a control and its routers decide together: shares of a limit, differences of a table, sums, session names."""
