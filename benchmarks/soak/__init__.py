"""The soak test: endpoints sleep and wake at random while everything around them changes, and a checker watches."""
