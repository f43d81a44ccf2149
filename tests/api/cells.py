"""Run the cells of a notebook in this process, and show what each ends with, as a notebook does.

    python cells.py NOTEBOOK

Prints a line of JSON with what was shown: HTML where an object has it, else its repr.
"""

import ast
import json
import sys
from pathlib import Path
from typing import Any


def code_of(notebook: dict[str, Any]) -> list[str]:
    """The source of each cell of code."""
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run_cells(sources: list[str]) -> list[str]:
    """Run the cells one after the other, and give what each shows."""
    names: dict[str, Any] = {"__name__": "__main__"}
    return [_run(source, names) for source in sources]


def _run(source: str, names: dict[str, Any]) -> str:
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if last is None:
        return ""
    result = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    as_html = getattr(result, "_repr_html_", None)
    return str((as_html and as_html()) or repr(result))  # a figure has no HTML of its own


if __name__ == "__main__":
    outputs = run_cells(code_of(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
    print(json.dumps(outputs), flush=True)
    import atexit
    import os

    atexit._run_exitfuncs()
    os._exit(0)  # Prefect's threads hold what DuckDB's bindings would print pages about
