"""What Torpor does with each member that the control plane's operations may have."""
