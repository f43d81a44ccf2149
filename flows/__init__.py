"""Flows, the release spec and the command line."""

if __name__ != "sfumato.flows":
    raise ImportError(
        "this package is sfumato.flows. Import it by that name, and deploy flows again"
    )
