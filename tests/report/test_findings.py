"""The table of findings that Prefect keeps."""

from sfumato.expectations.rules.verdicts import GROUPS, Finding
from sfumato.tasks.report.watched import finding_rows


def test_promises_come_first_and_what_is_broken_before_what_holds():
    findings = [
        Finding("microdata", "expect_column_values_to_not_be_null", {"column": "age"}, True, 0),
        Finding("microdata", "expect_canonical_order", {}, False, None),
        Finding(GROUPS, "expect_k_anonymity", {"k": 5}, True, {"k": 7, "groups": 3}),
        Finding(GROUPS, "expect_t_closeness", {"t": "1/5", "sensitive": "wage"}, False, {"t": "1"}),
    ]
    rows = finding_rows(findings)
    assert [row["expectation"].removeprefix("expect_") for row in rows] == [
        "t_closeness",
        "k_anonymity",
        "canonical_order",
        "column_values_to_not_be_null",
    ]
    assert rows[0]["required"] == "t 1/5"
    assert rows[0]["about"] == "sensitive wage"
    assert rows[1]["observed"] == "k 7, groups 3"


def test_values_that_an_owner_names_are_not_told():
    """Prefect keeps the table, and a filter's literals are hidden from it for the same reason."""
    configuration = {"column": "person", "value_set": ["CANARY"], "mostly": 0.5}
    of_texts = {"column": "person", "regex": "CANARY.*"}
    rows = finding_rows(
        [
            Finding("source", "expect_column_values_to_not_be_in_set", configuration, False, 3),
            Finding("source", "expect_column_values_to_match_regex", of_texts, True, 0),
        ]
    )
    assert "CANARY" not in str(rows)
    assert rows[0]["required"] == "mostly 0.5"
