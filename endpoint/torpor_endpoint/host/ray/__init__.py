"""Runs instances on the nodes of a Ray cluster. A detached actor keeps each, which outlives the endpoint's processes.

    endpoint: host ──JSON lines──► driver ──Ray──► actor on a node ──lifeline──► torpor-container serve
       └──────────────────────── requests, over TCP and behind a secret ────────────────┘

Ray ends a driver that has lost its cluster for a minute. So the process that serves requests is none: the driver is a
process of its own, which may end and be started again while instances go on answering.
"""
