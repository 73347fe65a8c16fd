"""What the tests of more than one package use."""
