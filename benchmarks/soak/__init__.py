"""The soak: endpoints that sleep and wake at random while all that can change around them does, and a checker."""
