"""Plain tables have the bytes that rich writes, and rich writes all others."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sfumato.flows.cli.tables import _DECIDING, print_table


class Screen(io.StringIO):
    """A stream in the place of stdout."""

    encoding = "utf-8"

    def __init__(self, terminal):
        super().__init__()
        self.terminal = terminal

    def isatty(self):
        return self.terminal


TEXTS = st.text(alphabet="aB 7,.…≈−é中\t\n\u0301", max_size=12) | st.sampled_from(["x" * 30, "(*)"])


@st.composite
def tables(draw):
    columns = draw(st.integers(1, 4))
    row = st.lists(TEXTS, min_size=columns, max_size=columns)
    return draw(row), draw(st.lists(row, max_size=4))


def by_rich(headers, rows, terminal):
    table = Table()
    for header in headers:
        table.add_column(Text(header))
    for cells in rows:
        table.add_row(*map(Text, cells))
    screen = Screen(terminal)
    Console(file=screen).print(table)
    return screen.getvalue()


def by_us(headers, rows, terminal):
    screen = Screen(terminal)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", screen)
        print_table(headers, rows)
    return screen.getvalue()


@given(tables(), st.booleans(), st.sampled_from(["", "0", "20", "41", "80", "200"]))
def test_bytes_are_those_of_rich(table, terminal, columns):
    with pytest.MonkeyPatch.context() as patch:
        for name in _DECIDING:
            patch.delenv(name, raising=False)
        patch.setenv("TERM", "xterm-256color")
        patch.setenv("COLUMNS", columns)
        headers, rows = table
        assert by_us(headers, rows, terminal) == by_rich(headers, rows, terminal)


@pytest.mark.parametrize(
    ("name", "value"),
    [("TERM", "dumb"), ("NO_COLOR", "1"), ("FORCE_COLOR", "1"), ("TTY_COMPATIBLE", "0")],
)
@pytest.mark.parametrize("terminal", [True, False])
def test_unusual_terminals_are_left_to_rich(monkeypatch, name, value, terminal):
    monkeypatch.setenv(name, value)
    table = ["sex", "COUNT(*)"], [["Female", "2,652"], ["Male", "6 … 7 (≈ 6)"]]
    assert by_us(*table, terminal) == by_rich(*table, terminal)


@pytest.mark.parametrize("width", [24, 25])
def test_a_table_as_wide_as_the_terminal_is_plain(monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    table = ["a" * 8, "b" * 10], [["1", "2"]]
    assert by_us(*table, terminal=False) == by_rich(*table, terminal=False)
