"""What the tests of the chart read."""
