"""What is mutated, and by which tests a mutant is noticed."""

FIRST = (
    "tasks/microdata/randomness.py",
    "tasks/private/durable.py",
    "tasks/publication/seal.py",
    "tasks/publication/ownership.py",
    "tasks/stages/validate.py",
    "tasks/forms/permuted/permuted.py",
    "tasks/publication/publish.py",
    "expectations/suites/gate.py",
    "expectations/verdicts.py",
    "tasks/forms/order.py",
)
"""Every mutant of these: randomness, order, durability, the gate and publication."""

SAMPLED = ("expectations/**/*.py", "tasks/query/bounds/**/*.py")
"""A sample of the mutants of these, as many of each module as its share of all."""

SAMPLE, SEED = 400, 20260101

TESTS = (
    "tests/randomness",
    "tests/expectations",
    "tests/papers",
    "tests/private",
    "tests/release",
    "tests/faults",
    "tests/forms",
    "tests/measure",
    "tests/laws/test_form_laws.py",
    "tests/laws/test_partition_laws.py",
    "tests/laws/test_canonical_order.py",
    "tests/laws/test_permuted_is_tighter.py",
    "tests/query/test_accuracy.py",
    "tests/query/test_aggregates.py",
    "tests/query/test_answer.py",
    "tests/query/test_bounds.py",
    "tests/query/test_bounds_of_worlds.py",
    "tests/query/test_having.py",
    "tests/query/test_help_table.py",
    "tests/query/test_matched.py",
    "tests/query/test_recoded.py",
    "tests/query/test_recoded_truth.py",
    "tests/query/test_subdomains.py",
    "tests/test_doctests.py",
)
APART = ("tests/faults/test_kill.py", "tests/faults/test_places.py")
"""Tests that run the command in other processes, which would not see a mutant."""
