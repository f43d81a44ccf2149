"""Pages as their readers see them: without the script that answers questions."""

import re


def without_script(page: bytes) -> bytes:
    """Return a page without its script; the tables that it holds stay."""
    return re.sub(rb"<script>.*?</script>", b"", page, flags=re.DOTALL)


def without_tables(page: str) -> str:
    """Return a page without its script and the tables that it holds."""
    return re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
