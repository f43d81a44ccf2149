"""Which tests run on one worker: those of a file, and of files that share what takes long to make.

Such a unit goes to one worker as a whole, those that take longest first, so that both workers end
at about the same time.
"""

from xdist.scheduler import LoadScopeScheduling

SHARED = {
    "databases": [
        "tests/query/test_dialects.py",
        "tests/query/test_subdomains.py",
        "tests/query/test_apart.py",
        "tests/query/test_load.py",
    ],
    "prefect": [
        "tests/flows/test_worker.py",
        "tests/faults/test_kill.py",
        "tests/flows/test_release_flow.py",
        "tests/flows/test_outcomes.py",
        "tests/flows/test_sources.py",
        "tests/flows/test_destinations.py",
        "tests/flows/test_retention.py",
        "tests/flows/test_log_lines.py",
        "tests/guide/test_operations.py",
        "tests/guide/test_tutorial.py",
        "tests/packaging/test_wheel.py",
        "tests/api/test_notebooks.py",
        "tests/approval/test_two_users.py",
    ],
    "commands": [
        "tests/harness/test_operation.py",
        "tests/harness/test_on_postgres.py",
        "tests/comparison/test_comparison.py",
        "tests/flows/test_attacked.py",
        "tests/flows/test_passphrases.py",
        "tests/flows/test_composed_flow.py",
        "tests/flows/test_own_rules.py",
        "tests/faults/test_kill_approval.py",
        "tests/faults/test_kill_composed.py",
        "tests/workers/test_own_cluster.py",
        "tests/workers/test_foreign_cluster.py",
        "tests/parts/test_flow.py",
    ],
    "guide": ["tests/browser/test_guide.py", "tests/guide/test_site.py"],
    "compiled": ["tests/corpus/test_corpus.py", "tests/corpus/test_shipped_specs.py"],
    "parts": ["tests/parts/test_answers.py", "tests/parts/test_accuracy.py"],
}
"""One database server of each kind, two Prefect servers and processes that fork, one site of the
guide, loops that are compiled once, and releases in parts of every form."""

LONG = [
    *SHARED["prefect"],
    *SHARED["commands"],
    *SHARED["databases"],
    "tests/experiments/test_registry.py",
    "tests/fuzz/test_fuzz.py",
    *SHARED["compiled"],
    *SHARED["guide"],
    "tests/destinations/test_every_line.py",
    "tests/query/test_label_tables.py",
    "tests/destinations/test_commands.py",
    "tests/laws/test_every_combination.py",
    "tests/parts/test_evaluated.py",
    "tests/intervals/test_nulls.py",
    "tests/browser/test_releases.py",
    "tests/query/test_side_by_side.py",
    "tests/attacks/test_minimality.py",
    "tests/authorship/test_signed.py",
    "tests/query/test_language_of_forms.py",
    "tests/corpus/test_upgrade.py",
    "tests/query/test_language_of_worlds.py",
    "tests/destinations/test_store.py",
    "tests/release/test_withdrawal.py",
    "tests/release/test_composed_lines.py",
    "tests/destinations/test_kills.py",
    "tests/release/test_previous.py",
    "tests/gallery/test_servers.py",
    "tests/test_doctests.py",
    "tests/approval/test_waiting.py",
    "tests/destinations/test_sequences.py",
    "tests/aimed/test_auto.py",
    "tests/query/test_composed.py",
    "tests/aimed/test_counts_and_groups.py",
    "tests/query/test_aggregates.py",
    "tests/verification/test_way_in.py",
    "tests/query/test_composed_databases.py",
    "tests/experiments/test_pictures.py",
    "tests/drafts/test_drafts.py",
    "tests/parts/test_check.py",
    "tests/query/test_having.py",
    "tests/query/test_matched.py",
    "tests/expectations/test_model_laws.py",
]
_UNITS = {file: name for name, files in SHARED.items() for file in files}


def rank(nodeid: str) -> int:
    """When a test is run: those that take long in the order above, then all others."""
    file = nodeid.partition("::")[0]
    return LONG.index(file) if file in LONG else len(LONG)


class Units(LoadScopeScheduling):
    """Gives workers whole units, in the order in which they were collected."""

    def __init__(self, config, log=None):
        super().__init__(config, log)
        config.option.loadscopereorder = False  # by the number of tests

    def _split_scope(self, nodeid):
        file = nodeid.partition("::")[0]
        return _UNITS.get(file, file)
