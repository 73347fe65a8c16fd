"""Groups of models in the fleet: lists the prefixes, reads the files of groups, and gives them to the pools."""
