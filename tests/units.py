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
    "guide": ["tests/browser/test_guide.py", "tests/guide/test_site.py"],
    "compiled": ["tests/corpus/test_corpus.py", "tests/corpus/test_shipped_specs.py"],
}
"""One server of each kind, one site of the guide, and loops that are compiled once."""

LONG = [
    "tests/harness/test_operation.py",
    "tests/experiments/test_registry.py",
    *(file for files in SHARED.values() for file in files),
    "tests/experiments/test_pictures.py",
    "tests/destinations/test_every_line.py",
    "tests/release/test_withdrawal.py",
    "tests/query/test_label_tables.py",
    "tests/query/test_having.py",
    "tests/query/test_aggregates.py",
    "tests/query/test_matched.py",
    "tests/laws/test_every_combination.py",
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
