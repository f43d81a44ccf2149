"""Prefect tasks, and the rooms of plain Python that they call."""

if __name__ != "sfumato.tasks":
    raise ImportError(
        "this package is sfumato.tasks: import it by that name, and deploy flows again"
    )
