"""The list of editions of Sfumato's policies, also as a module of the second verifier.

    python -m deployments.guide.generated.policy_editions

adds the present file of each policy. An edition that was delivered stays: releases name it.
"""

import json
from pathlib import Path
from typing import Any

from sfumato.flows.inputs.policies import all_policies
from sfumato.tasks.policies.term import EDITIONS, known_editions

MODULE = Path(__file__).parents[2] / "verifier" / "modules" / "policies.js"
_HEAD = (
    "/** Editions of the policies that come with the software, by the SHA-256 of their files: "
    "the same value as in editions.json. */\n"
)
Editions = dict[str, dict[str, Any]]


def editions() -> Editions:
    """Return all editions that were delivered, and the present ones."""
    listed: Editions = (
        {k: dict(v) for k, v in known_editions().items()} if EDITIONS.exists() else {}
    )
    for file in all_policies():
        if file.policy.rules:
            listed[file.sha256] = file.policy.machine_part()
    return dict(
        sorted(listed.items(), key=lambda item: (item[1]["name"], item[1]["date"], item[0]))
    )


def text_of(listed: Editions) -> str:
    """Return the list as it is written into its file."""
    return json.dumps(listed, indent=1, ensure_ascii=False) + "\n"


def module_of(listed: Editions) -> str:
    """Return the list as a module of the verifier."""
    return f"{_HEAD}export const editions = {text_of(listed).removesuffix(chr(10))}\n"


def write() -> None:
    """Write the list and the module."""
    listed = editions()
    EDITIONS.write_text(text_of(listed), encoding="utf-8")
    MODULE.write_text(module_of(listed), encoding="utf-8")


if __name__ == "__main__":
    write()
