"""The services that moto answers: those that Torpor does not answer itself."""
