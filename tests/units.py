"""Units of tests that run on one worker, and the parts of the suite.

A unit is a file, or several files that share what takes long to make. It goes to one worker as a
whole, the longest units first, so that all workers end at about the same time.

`make test` runs the part `everyday`: what a change breaks first. The part `reader` is run in an
environment that has only what a reader of releases installs. The part `rest` is everything else;
together they are the whole suite, each test once.
"""

from collections.abc import Collection

from xdist.scheduler import LoadScopeScheduling

SHARED = {
    "databases": [
        "tests/query/test_dialects.py",
        "tests/query/test_subdomains.py",
        "tests/query/test_apart.py",
        "tests/query/test_load.py",
        "tests/query/test_two_tables.py",
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
    "tests/reader/test_other_systems.py",
    "tests/reader/test_environment.py",
    "tests/destinations/test_every_line.py",
    "tests/query/test_label_tables.py",
    "tests/parts/test_composed.py",
    "tests/parts/test_composed_lines.py",
    "tests/profile/test_method.py",
    "tests/release/test_compared_pages.py",
    "tests/script/test_likely_intervals.py",
    "tests/intervals/test_blocks.py",
    "tests/pairs/test_pairs.py",
    "tests/script/test_same_answers.py",
    "tests/microdata/test_arrow_types.py",
    "tests/conformance/test_conformance.py",
    "tests/attacks/test_singling_out.py",
    "tests/parts/test_composed_flow.py",
    "tests/faults/test_full_disk.py",
    "tests/parts/test_accuracy.py",
    "tests/flows/test_without_prefect.py",
    "tests/workbench/test_walk.py",
    "tests/browser/test_page.py",
    "tests/house/test_imports.py",
    "tests/drafts/test_advice.py",
    "tests/parts/test_redistributed.py",
    "tests/script/test_page_script.py",
    "tests/api/test_user_project.py",
    "tests/house/test_static.py",
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
EVERYDAY = (
    "tests/laws/",
    "tests/papers/",
    "tests/expectations/",
    "tests/composition/",
    "tests/forms/",
    "tests/house/",
    "tests/measure/",
    "tests/private/",
    "tests/randomness/",
    "tests/spec/",
    "tests/sql/",
    "tests/verification/",
    "tests/faults/test_gates.py",
    "tests/faults/test_sync_order.py",
    "tests/release/test_sealed_candidates.py",
    "tests/test_guards.py",
    "tests/test_units.py",
)
"""Laws, promises, the papers' examples, gates, and the rules of the house."""

LATER = (
    "tests/house/test_entries.py",
    "tests/house/test_imports.py",
    "tests/house/test_new_",
    "tests/house/test_static.py",
    "tests/papers/test_running_examples.py",
    "tests/spec/test_deployments.py",
)
"""What starts many processes or makes whole releases, though it stands among these."""

READER = ("tests/query/", "tests/reader/test_frozen_lines.py")
"""What reads, checks and asks: everything that needs no package of the publishing half."""

PARTS = ("everyday", "reader", "rest")
NEEDS = {"browser", "node", "packaging", "postgres"}
_UNITS = {file: name for name, files in SHARED.items() for file in files}


def rank(nodeid: str) -> int:
    """When a test is run: those that take long in the order above, then all others."""
    file = nodeid.partition("::")[0]
    return LONG.index(file) if file in LONG else len(LONG)


def part_of(nodeid: str, markers: Collection[str] = ()) -> str:
    """Return the part that a test is of: by its file, and by what it needs."""
    if nodeid.startswith(READER):
        return "reader"
    is_everyday = nodeid.startswith(EVERYDAY) and not nodeid.startswith(LATER)
    return "everyday" if is_everyday and NEEDS.isdisjoint(markers) else "rest"


def parts_of(file: str, text: str) -> set[str]:
    """Return the parts that the tests of a file can be of, by the marks that its text names."""
    named = {need for need in NEEDS if f"mark.{need}" in text}
    return {part_of(file, markers) for markers in ((), named)}


def has_readers(directory: str) -> bool:
    """Decide whether a directory of tests has some of the part `reader`, or is part of one."""
    inside = f"{directory}/"
    return any(place.startswith(inside) or inside.startswith(place) for place in READER)


class Units(LoadScopeScheduling):
    """Gives workers whole units, in the order in which they were collected."""

    def __init__(self, config, log=None):
        super().__init__(config, log)
        config.option.loadscopereorder = False  # by the number of tests

    def _split_scope(self, nodeid):
        file = nodeid.partition("::")[0]
        return _UNITS.get(file, file)
