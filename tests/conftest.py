"""Here so that every test finds the modules of this folder."""
