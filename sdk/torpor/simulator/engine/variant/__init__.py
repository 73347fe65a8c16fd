"""How a simulated variant runs, and its instances made from that."""
