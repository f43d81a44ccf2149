"""What must hold: privacy models, rules of tables, and their verdicts."""

if __name__ != "sfumato.expectations":
    raise ImportError(
        "this package is sfumato.expectations: import it by that name, and deploy flows again"
    )
