"""One port that several processes serve: which of them accepts, and how a connection goes from one to another."""
