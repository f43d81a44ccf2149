"""Objects that every process makes at its first use: a process that forks makes them first."""

import gc
import mimetypes
import os
from pathlib import Path


def make_once() -> None:
    """Make the templates and scripts of pages, the templates of Data Docs, and the schema of specs.

    Promises are complete afterwards, and every dialect has written a statement.
    """
    import sqlglot
    from pydantic.dataclasses import rebuild_dataclass

    from sfumato.expectations.models.promises import models
    from sfumato.expectations.suites.records import PageView
    from sfumato.flows.inputs.spec import json_schema
    from sfumato.tasks import report
    from sfumato.tasks.query.question.ways import WAYS
    from sfumato.tasks.report.rendering import environment, script_sha256
    from sfumato.tasks.sql.dialects.registry import DIALECTS

    json_schema()
    for promise in models():
        rebuild_dataclass(promise)
    for dialect in DIALECTS.values():
        sqlglot.parse_one("SELECT 1").sql(dialect.sqlglot)
    for shows in (*WAYS, "facts"):
        script_sha256(shows)
    mimetypes.init()
    ours = Path(report.__path__[0]) / "templates"
    for path in ours.rglob("*.j2"):
        environment().get_template(path.relative_to(ours).as_posix())
    theirs = PageView().env
    for name in theirs.list_templates(extensions=["j2"]):
        theirs.get_template(name)


def make_ready() -> None:
    """Sync files at once in every child, as in tests, and copy no more of the parent than need be.

    A child's garbage collector would pass over all that the parent has, and so copy it.
    """
    os.fsync = os.fstat
    gc.collect()
    gc.freeze()
