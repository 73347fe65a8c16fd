"""What the operations of services need: how a row says it, and the rows of the account's own services."""
