"""The simulated variant: instances, their processors and models, on a virtual clock."""
