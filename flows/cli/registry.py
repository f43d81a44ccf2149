"""Every command by its name, with the module that has it, under who uses it.

A command's module is imported when it runs, or when help lists it.
"""

from collections.abc import Mapping

_ANALYST = "sfumato.flows.cli.analyst"
_CHOICE = "sfumato.flows.cli.choice"
_LIFE = "sfumato.flows.cli.life"
_REVIEW = "sfumato.flows.cli.review"
_STEWARD = "sfumato.flows.cli.steward"

SECTIONS: Mapping[str, Mapping[str, str]] = {
    "See how it works": {"demo": f"{_STEWARD}.demo"},
    "Analysts: ask a release, and verify it": {
        "query": f"{_ANALYST}.query",
        "check": f"{_ANALYST}.check",
        "diff": f"{_ANALYST}.diff",
        "load": f"{_ANALYST}.load",
        "metadata": f"{_ANALYST}.metadata",
    },
    "Stewards: choose what to release": {
        "measure": f"{_ANALYST}.measure",
        "workbench": f"{_CHOICE}.workbench",
        "init": f"{_CHOICE}.init",
        "hierarchy": f"{_CHOICE}.hierarchy",
        "plan": f"{_CHOICE}.plan",
        "compare": f"{_CHOICE}.compare",
        "policies": f"{_CHOICE}.policies",
        "schema": f"{_STEWARD}.schema",
    },
    "Stewards: release, and look after what was released": {
        "release": f"{_STEWARD}.release",
        "evaluate": f"{_STEWARD}.evaluate",
        "attack": f"{_STEWARD}.attack",
        "releases": f"{_LIFE}.releases",
        "dossier": f"{_LIFE}.dossier",
        "describe": f"{_LIFE}.describe",
        "withdraw": f"{_LIFE}.withdraw",
        "deliver": f"{_LIFE}.deliver",
        "line": f"{_STEWARD}.line",
        "keys": f"{_STEWARD}.keys",
        "pseudonyms": f"{_STEWARD}.pseudonyms",
    },
    "Reviewers and publishers: approve and publish a candidate": {
        "review": f"{_REVIEW}.review",
        "publish": f"{_STEWARD}.publish",
    },
    "Operators: run it on a server": {
        "deploy": f"{_STEWARD}.deploy",
        "health": f"{_STEWARD}.health",
        "sweep": f"{_STEWARD}.sweep",
    },
    "Researchers: repeat the experiments of the papers": {
        "experiment": f"{_ANALYST}.experiment",
    },
}
"""The commands of each section by name, with the module that defines them."""

MODULES: Mapping[str, str] = {
    name: module for section in SECTIONS.values() for name, module in section.items()
}

MENDING = (
    *("release", "evaluate", "attack", "dossier", "describe", "withdraw", "deliver", "line"),
    *("keys", "pseudonyms", "review", "publish", "deploy", "sweep"),
)
"""The commands of owners of lines; they first mend what stopped commands left in public places."""

WITH_GREAT_EXPECTATIONS = ("demo", "release", "plan", "publish")
"""The commands whose runs need pandas: Great Expectations does."""
