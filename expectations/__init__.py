"""Privacy models, rules of tables, and their verdicts: all that must hold."""

if __name__ != "sfumato.expectations":
    raise ImportError(
        "this package is sfumato.expectations. Import it by that name, and deploy flows again"
    )
