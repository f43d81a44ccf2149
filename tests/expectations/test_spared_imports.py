"""Commands import of Great Expectations what they use; other processes import it whole."""

import copy
import json
import re
import subprocess
import sys

import pyarrow as pa

from sfumato.expectations.machine.imports import Spared, import_spared
from sfumato.expectations.rules.owned import OwnedRule
from sfumato.expectations.rules.structure import NotEmpty, OrderedColumns, rules_of_published
from sfumato.expectations.suites.rules import frame_with

REPORT = """
import json, sys
{start}
import sfumato.expectations.suites.gate
import great_expectations as gx
from great_expectations.datasource import fluent
from great_expectations.expectations.registry import list_registered_expectation_implementations
print(json.dumps({{
    "modules": sorted({{name.partition(".")[0] for name in sys.modules}}),
    "real": [name for name in ("SparkDatasource", "PostgresDatasource", "PandasDatasource")
             if hasattr(getattr(fluent, name), "__fields__")],
    "expectations": list_registered_expectation_implementations(),
}}))
"""
COMMAND = "from sfumato.flows.inputs.environment import lean; lean()"
BY_WORKER = """
sys.argv = ["prefect/flow_engine.py", {entrypoint!r}]
import sfumato.flows.release
"""


def import_gate(start):
    done = subprocess.run(
        [sys.executable, "-c", REPORT.format(start=start)],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_a_command_imports_what_specs_can_name_and_no_platform():
    seen = import_gate(COMMAND)
    assert {"boto3", "botocore", "altair", "sqlalchemy", "urllib3"} & set(seen["modules"]) == set()
    assert seen["real"] == ["PandasDatasource"]
    assert set(OwnedRule.model_fields) | {OrderedColumns.type} <= set(seen["expectations"])
    published = rules_of_published(pa.schema([("a", pa.int64())]), 1, lambda _: True, ["b"])
    assert {rule.type for rule in (*published, NotEmpty())} <= set(seen["expectations"])


def test_another_process_has_all_of_great_expectations():
    seen = import_gate("")
    assert seen["real"] == ["SparkDatasource", "PostgresDatasource", "PandasDatasource"]
    assert "expect_column_kl_divergence_to_be_less_than" in seen["expectations"]


def test_a_worker_s_run_of_ours_imports_what_a_command_does():
    seen = import_gate(BY_WORKER.format(entrypoint="sfumato.flows.release:release"))
    assert seen["real"] == ["PandasDatasource"]


def test_a_worker_s_run_of_another_s_flow_has_all_of_great_expectations():
    seen = import_gate(BY_WORKER.format(entrypoint="theirs.flows:release_and_report"))
    assert seen["real"] == ["SparkDatasource", "PostgresDatasource", "PandasDatasource"]


def test_a_package_that_needs_what_was_left_out_is_imported_whole(tmp_path, monkeypatch):
    place = tmp_path / "needing"
    place.mkdir()
    (place / "__init__.py").write_text("from needing.part import NUMBER\nTOTAL = NUMBER + 1\n")
    (place / "part.py").write_text("NUMBER = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    import_spared("needing", Spared(hollow=re.compile(r"needing\.part")))
    assert sys.modules["needing"].TOTAL == 2
    assert sys.modules["needing.part"].NUMBER == 1
    assert not [finder for finder in sys.meta_path if type(finder).__name__ == "_Finder"]
    for name in ("needing", "needing.part"):
        del sys.modules[name]


def test_a_hollow_module_has_empty_classes_alone(tmp_path, monkeypatch):
    place = tmp_path / "using"
    place.mkdir()
    (place / "__init__.py").write_text("from using.part import Thing, Other\n")
    (place / "part.py").write_text("raise RuntimeError('this is not executed')\n")
    monkeypatch.syspath_prepend(tmp_path)
    import_spared("using", Spared(hollow=re.compile(r"using\.part")))
    assert isinstance(sys.modules["using"].Thing(), sys.modules["using"].Thing)
    assert sys.modules["using"].Thing is not sys.modules["using"].Other
    for name in ("using", "using.part"):
        del sys.modules[name]


def test_a_replaced_module_has_its_content(tmp_path, monkeypatch):
    place = tmp_path / "making"
    place.mkdir()
    (place / "__init__.py").write_text("from making.part import number\nTOTAL = number() + 1\n")
    (place / "part.py").write_text("raise RuntimeError('this is not executed')\n")
    monkeypatch.syspath_prepend(tmp_path)
    import_spared("making", Spared(replaced={"making.part": {"number": lambda: 1}}))
    assert sys.modules["making"].TOTAL == 2
    for name in ("making", "making.part"):
        del sys.modules[name]


def test_a_command_imports_scipy_without_modules_that_it_only_copies():
    code = f"""{COMMAND}
import sys
from scipy.special import betaincinv
print(betaincinv(1, 1, 0.5), "unittest" in sys.modules)
import numpy
numpy.testing.assert_equal(1, 1)
print("unittest" in sys.modules)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0.5", "False", "True"]


def test_frames_hand_on_what_they_carry():
    """Pandas copies a frame's attributes at every step, however many columns they are about."""
    table = pa.table({"text": pa.array(["a", "b"]).dictionary_encode(), "number": [1, 2]})
    df = frame_with(table, [NotEmpty()])
    assert df.attrs
    for name, carried in df.attrs.items():
        assert copy.deepcopy(carried) is carried, name
        assert df.copy().attrs[name] is carried, name
