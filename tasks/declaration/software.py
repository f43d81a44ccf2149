"""The software that makes a release's bytes."""

from importlib.metadata import version


def software() -> dict[str, str]:
    """The versions on which a release's bytes depend."""
    return {
        "sfumato": version("sfumato"),
        "pyarrow": version("pyarrow"),
        "sqlglot": version("sqlglot"),
    }
