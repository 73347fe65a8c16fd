"""What foreign code may touch: files, other processes, calls of the kernel, the network, and how much of each."""
