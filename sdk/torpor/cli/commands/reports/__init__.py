"""Commands that read what the endpoint did, and show it: tables for people, JSON for programs."""
