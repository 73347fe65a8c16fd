"""What is measured: each module one section, with one function that answers the rows of a table."""
