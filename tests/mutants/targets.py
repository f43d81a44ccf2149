"""The files that are mutated, and the tests that may notice a mutant."""

FIRST = (
    "tasks/microdata/table.py",
    "tasks/private/durable.py",
    "tasks/publication/staging.py",
    "tasks/lines/line.py",
    "tasks/stages/validate.py",
    "tasks/forms/permuted.py",
    "tasks/publication/publish.py",
    "tasks/lines/standing.py",
    "expectations/suites/gate.py",
    "expectations/rules/verdicts.py",
    "tasks/forms/order.py",
    "tasks/lines/versions.py",
    "tasks/publication/manifest.py",
    "tasks/publication/check.py",
    "tasks/publication/amendments.py",
    "tasks/publication/withdrawal.py",
    "tasks/lines/known_destinations.py",
    "tasks/lines/kept.py",
    "tasks/lines/left_over.py",
    "tasks/lines/listing.py",
    "tasks/lines/pages.py",
    "tasks/lines/public_record.py",
    "tasks/lines/snapshot.py",
    "tasks/lines/tombstones.py",
    "tasks/destinations/*.py",
    "tasks/verification/**/*.py",
)
"""Every mutant of these: randomness, order, durability, the gate, publication, what becomes of
versions and copies, signatures, and the one way in."""

SAMPLED = ("expectations/**/*.py", "tasks/query/bounds/**/*.py")
"""A sample of the mutants of these, as many of each module as its share of all."""

SAMPLE, SEED = 400, 20260101

TESTS = {
    "first": (
        "tests/api/test_opening.py",
        "tests/approval",
        "tests/authorship",
        "tests/corpus/test_backups.py",
        "tests/corpus/test_corpus.py",
        "tests/reader/test_frozen_lines.py",
        "tests/destinations",
        "tests/mutants",
        "tests/randomness",
        "tests/faults",
        "tests/expectations/test_judged.py",
        "tests/expectations/test_structure.py",
        "tests/expectations/test_suites.py",
        "tests/forms/test_split.py",
        "tests/laws/test_canonical_order.py",
        "tests/papers/test_association.py",
        "tests/laws/test_form_laws.py",
        "tests/private",
        "tests/release/test_back_and_forth.py",
        "tests/release/test_catalogue.py",
        "tests/release/test_check.py",
        "tests/release/test_following.py",
        "tests/release/test_forgeries.py",
        "tests/release/test_formats.py",
        "tests/release/test_line_state.py",
        "tests/release/test_lines.py",
        "tests/release/test_pending.py",
        "tests/release/test_sealed_candidates.py",
        "tests/release/test_versions.py",
        "tests/release/test_withdrawal.py",
        "tests/spec/test_destinations.py",
        "tests/test_doctests.py",
        "tests/verification",
    ),
    "sample": (
        "tests/composition",
        "tests/expectations",
        "tests/measure",
        "tests/papers",
        "tests/query/test_aggregates.py",
        "tests/query/test_bounds.py",
        "tests/query/test_bounds_of_worlds.py",
        "tests/query/test_help_table.py",
        "tests/query/test_matched.py",
        "tests/query/test_subdomains.py",
        "tests/report/test_composed_page.py",
        "tests/report/test_page.py",
        "tests/spec",
        "tests/test_doctests.py",
    ),
}
APART = ("tests/faults/test_kill.py",)
"""Tests that run the command in other processes, which would not see a mutant."""
