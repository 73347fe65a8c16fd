"""Heads that are read each time, for a reader whose requests nobody takes inline."""

from torpor_container.http.messages.request_heads import RequestHead, read_head


class ReadHeads:
    """Raises RequestRefused."""

    def __getitem__(self, data: bytes) -> RequestHead:
        return read_head(data)
