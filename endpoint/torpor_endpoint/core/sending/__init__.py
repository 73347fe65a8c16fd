"""How a request reaches an instance and passes its containers: one machine, which whoever sends a request drives."""
