"""Blocks of ports: no two programs have the same one, though neither listens yet."""

from contextlib import closing

import pytest

from torpor_container.adapter import port_blocks
from torpor_container.adapter.port_blocks import BLOCKS, free_block, safe_range


def test_a_block_that_is_held_is_given_to_nobody_else_until_it_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(free_block()) as held:
        monkeypatch.setattr(port_blocks, "BLOCKS", range(held.port, held.port + 1, BLOCKS.step))
        with pytest.raises(OSError, match="none of the 1 ports"):
            free_block()
    with closing(free_block()) as again:
        assert again.port == held.port


def test_the_other_ports_of_a_block_end_before_the_next_block() -> None:
    assert safe_range(BLOCKS[0]) == f"{BLOCKS[0] + 1}-{BLOCKS[1] - 1}"
