"""Encodes rows as the toolkits of AWS's images do, for their stand-ins and for the defaults of scripts."""
