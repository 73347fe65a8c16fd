"""The fault of what keeps records: a service answers it as its own, and work waits for its end."""


class RecordsFault(Exception):
    """What keeps the records did not do it: a full disk, a server that is away.

    `told`: the log has the outage already, in one line for all who meet it.
    """

    told = False
