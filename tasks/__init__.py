"""Prefect tasks, and the rooms of plain Python that they call."""

if __name__ != "sfumato.tasks":
    raise ImportError(
        "this package is sfumato.tasks. Import it by that name, and deploy flows again"
    )
