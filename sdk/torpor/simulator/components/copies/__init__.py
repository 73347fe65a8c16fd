"""The copies of one inference component in virtual time: how they are made, serve, scale and sleep."""
