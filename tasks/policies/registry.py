"""Every kind of rule that a policy may have, by the name that policies use."""

from collections.abc import Mapping
from typing import Annotated

from sfumato.expectations.shared.registered import Entries, Registered
from sfumato.tasks.policies.rule import PolicyRule

RULE_KINDS: Mapping[str, type[PolicyRule]] = Entries(
    "sfumato.tasks.policies",
    {
        "highest-risk": "sizes:HighestRisk",
        "group-size": "sizes:GroupSize",
        "register-risk": "attacks:RegisterRisk",
        "attack-bars": "attacks:AttackLimits",
        "forms": "shapes:AllowedForms",
        "versions": "shapes:AllowedVersions",
        "columns": "columns:ColumnKinds",
    },
)

Rule = Annotated[PolicyRule, Registered("rule", RULE_KINDS)]
"""A rule as a policy writes it: its kind under `rule`, and the parameters of that kind."""
