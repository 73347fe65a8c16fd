"""How long a minute, an hour and a day are, in seconds."""

MINUTE_S = 60.0
HOUR_S = 3600.0
DAY_S = 86_400.0
