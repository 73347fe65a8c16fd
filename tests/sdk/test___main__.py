"""The `torpor` command before its own code runs."""

import pytest

from torpor import __main__ as command


def test_an_interrupt_during_the_imports_ends_it_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(feature: str, *extras: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "require", interrupted)
    with pytest.raises(SystemExit) as ended:
        command.main()
    assert ended.value.code == 130
