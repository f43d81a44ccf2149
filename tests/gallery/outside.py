"""A plain Great Expectations project that stores a suite, runs a checkpoint and builds Data Docs.

It is run in a folder of its own, as by somebody who has the package installed and nothing else:
`outside.py URL TABLE`. It prints what the checkpoint says of each expectation.
"""

import json
import sys

import great_expectations as gx
from great_expectations.checkpoint import UpdateDataDocsAction

from sfumato.expectations.gallery import ExpectDistinctLDiversity, ExpectKAnonymity

url, table = sys.argv[1:]
context = gx.get_context(mode="file", project_root_dir=".")
source = context.data_sources.add_sql("hospital", connection_string=url)
batch = source.add_table_asset(table, table_name=table).add_batch_definition_whole_table("whole")
suite = gx.ExpectationSuite("privacy")
suite.add_expectation(ExpectKAnonymity(quasi_identifiers=["age", "city"], k=5))
suite.add_expectation(ExpectKAnonymity(quasi_identifiers=["age"], k=2))
suite.add_expectation(
    ExpectDistinctLDiversity(quasi_identifiers=["age"], sensitive="diagnosis", l=2)
)
suite.add_expectation(ExpectKAnonymity(quasi_identifiers=["nowhere"], k=2))
context.suites.add(suite)
stored = context.suites.get("privacy")  # as it is read back from the project
validation = context.validation_definitions.add(
    gx.ValidationDefinition(name="privacy", data=batch, suite=stored)
)
checkpoint = context.checkpoints.add(
    gx.Checkpoint(
        name="privacy",
        validation_definitions=[validation],
        actions=[UpdateDataDocsAction(name="docs")],
        result_format="COMPLETE",
    )
)
result = checkpoint.run()
(run,) = result.run_results.values()
results = [
    [
        result.expectation_config.type,
        result.expectation_config.kwargs,
        result.success,
        result.result,
    ]
    for result in run.results
]
print(json.dumps({"success": result.success, "statistics": run.statistics, "told": results}))
