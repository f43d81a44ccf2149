"""The names that `import sfumato` gives: listed, complete, lazily imported, and documented."""

import inspect
import json
import subprocess
import sys
from importlib import import_module

import pytest

import sfumato
from tests.corpus.lines import CORPUS
from tests.house.test_imports import RELEASE

HEAVY = {"great_expectations", "matplotlib", "numba", "pandas", "prefect", "scipy"}
ASKED = """
import json, sys
import sfumato
before = set(sys.modules)
release = sfumato.open({release!r})
answer = release.query("SELECT sex, COUNT(*), AVG(fnlwgt) FROM microdata GROUP BY sex")
for query in {queries!r}:
    release.query(query)
repr(answer), answer._repr_html_(), repr(release), release._repr_html_(), release.schema
print(json.dumps([sorted(before), sorted(sys.modules)]))
"""


QUERIES = (
    "SELECT AVG(age), COUNT(DISTINCT age), MAX(sex) FROM microdata",
    "SELECT AVG(fnlwgt * 2), SUM(fnlwgt * age), SUM(fnlwgt - age) FROM microdata",
    "SELECT STDDEV(fnlwgt), MEDIAN(fnlwgt) FROM microdata WHERE age > 30",
    "SELECT sex, AVG(fnlwgt), STDDEV(fnlwgt) FROM microdata WHERE fnlwgt > 100000 GROUP BY sex",
    "SELECT sex, COUNT(*) / SUM(COUNT(*)) OVER () AS part FROM microdata GROUP BY sex",
)
CHECKED = """
import json, sys
import sfumato
sfumato.open({release!r}).check()
print(json.dumps(sorted(sys.modules)))
"""


def test_exported_names_are_sorted_and_there():
    assert sfumato.__all__ == sorted(sfumato.__all__)
    public = [name for name in dir(sfumato) if not name.startswith("__")]
    assert public == sfumato.__all__
    assert [name for name in sfumato.__all__ if getattr(sfumato, name, None) is None] == []


def test_every_name_has_one_home_and_every_home_is_told():
    homes = {name for names in sfumato._HOMES.values() for name in names}
    assert homes == set(sfumato.__all__)
    for home, names in sfumato._HOMES.items():
        for name in names:
            assert getattr(sfumato, name) is getattr(import_module(home), name)
            assert getattr(sfumato, name).__module__ == home


def test_nothing_public_of_the_face_is_left_out():
    names = set()
    for home in sfumato._HOMES:
        if not home.startswith("sfumato.flows.api."):
            continue
        module = import_module(home)
        names |= {
            name
            for name, member in vars(module).items()
            if not name.startswith("_")
            and inspect.isroutine(member) | inspect.isclass(member)
            and member.__module__ == home
        }
    others = {"PublishedTables", "ShownFact", "column_name", "domain_of", "text_table"}
    of_the_face = {n for n, home in sfumato._HOME.items() if home.startswith("sfumato.flows.api.")}
    assert names - others == of_the_face


def test_every_name_and_method_says_what_it_does():
    for name in sfumato.__all__:
        member = getattr(sfumato, name)
        assert inspect.getdoc(member), name
        public = vars(member).items() if inspect.isclass(member) else ()
        silent = [m for m, made in public if m[0] != "_" and callable(made) and not made.__doc__]
        assert silent == []


def test_every_function_says_its_types():
    for name in ("compare", "measure", "open", "plan", "release"):
        signature = inspect.signature(getattr(sfumato, name))
        assert signature.return_annotation is not inspect.Signature.empty
        assert all(
            parameter.annotation is not parameter.empty
            for parameter in signature.parameters.values()
        )


def test_the_version_is_that_of_the_installed_software():
    from importlib.metadata import version

    assert sfumato.__version__ == version("sfumato")


def test_what_is_none_of_its_names_is_none():
    with pytest.raises(AttributeError, match="no attribute 'anonymise'"):
        sfumato.anonymise  # noqa: B018 - the attribute is what is asked for


@pytest.fixture(scope="module")
def modules():
    """The modules that are there after the import, and after a question was answered and shown."""
    code = ASKED.format(release=RELEASE, queries=QUERIES)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return [set(names) for names in json.loads(done.stdout)]


def test_the_import_alone_brings_no_dependency(modules):
    before, _ = modules
    roots = {name.partition(".")[0] for name in before}
    assert roots & {"click", "duckdb", "numpy", "pyarrow", "pydantic", "sqlglot", "yaml"} == set()
    ours = {name for name in before if name.partition(".")[0] == "sfumato"}
    assert ours == {"sfumato"}


def test_questions_need_neither_prefect_nor_great_expectations_nor_pandas(modules):
    _, after = modules
    assert {name.partition(".")[0] for name in after} & HEAVY == set()


@pytest.mark.parametrize("form", ["permuted", "split", "generalized", "suppressed", "ambiguous"])
def test_a_check_needs_neither_prefect_nor_great_expectations_nor_pandas(form):
    release = str(CORPUS / "format-2" / "public" / f"corpus-{form}" / "0002")
    code = CHECKED.format(release=release)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    roots = {name.partition(".")[0] for name in json.loads(done.stdout)}
    assert roots & {"great_expectations", "pandas", "prefect"} == set()
