"""What a router reports to the control: its traffic, what it counted, and when it says so."""
