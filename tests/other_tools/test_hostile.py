"""Hostile projects: each is refused, or the part of it, with a message and within limits."""

import io
import resource
import struct
import time
import zipfile

import pytest

from sfumato.expectations.shared.errors import InputError
from sfumato.flows.cli.main import run
from sfumato.tasks.other_tools.hostile import MOST_ENTRIES, exact_number, whole_number
from sfumato.tasks.other_tools.registry import read_setup
from tests.other_tools.projects import AGES, COLUMNS, METADATA, RDA, config, deid, entries

QI = "QUASI_IDENTIFYING_ATTRIBUTE"
ASSIGNMENT = f"<assigment><name>a</name><type>{QI}</type></assigment>"
LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
BILLION = f'<!DOCTYPE lolz [<!ENTITY l0 "lol">{LAUGHS}]><definition>&l9;</definition>'
OUTSIDE = '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]><definition>&x;</definition>'


def project(**changes):
    """The entries of a project with some of them changed; None takes one away."""
    made = entries() | {name.replace("__", "/"): text for name, text in changes.items()}
    return {name: text for name, text in made.items() if text is not None}


def definition(text):
    return entries() | {"input/definition.xml": text}


def bomb(name="input/hierarchies/age.csv"):
    return entries() | {name: "1;*\n" * (5 << 20)}


def directory_of_many():
    """A valid end of a file that promises 60,000 entries, and has none of them."""
    return struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 60_000, 60_000, 0, 0, 0)


def many_entries():
    return entries() | {f"data/{n}": "" for n in range(MOST_ENTRIES)}


def cut_off(path):
    content = deid(path, entries()).read_bytes()
    path.write_bytes(content[: len(content) // 2])
    return path


def with_password(path):
    content = bytearray(deid(path, entries(), zipfile.ZIP_STORED).read_bytes())
    place = content.rindex(b"PK\x01\x02", 0, content.rindex(b"input/definition.xml"))
    content[place + 8] |= 1
    path.write_bytes(bytes(content))
    return path


def twice(path):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive, pytest.warns(UserWarning):
        for name, text in [*entries().items(), ("metadata.xml", METADATA)]:
            archive.writestr(name, text)
    path.write_bytes(content.getvalue())
    return path


def with_fault(path):
    content = bytearray(deid(path, entries(), zipfile.ZIP_STORED).read_bytes())
    content[content.index(b"<definition>") + 3] ^= 0xFF
    path.write_bytes(bytes(content))
    return path


def write_file(name, content):
    def make(place):
        path = place / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make


def archive(made):
    return lambda place: deid(place / "x.deid", made)


def of_bytes(make):
    return lambda place: make(place / "x.deid")


R = "x <- createSdcObj(d, keyVars = c('a'))\n"
HOSTILE = {
    "a ZIP bomb": (archive(bomb()), "unpacks to more than 16,777,216 bytes"),
    "a ratio of compression": (
        archive(entries() | {"input/definition.xml": "<definition>" + " " * (4 << 20)}),
        "times its size, and 200 is the limit",
    ),
    "sixty thousand promised entries": (
        write_file("x.deid", directory_of_many()),
        "has 60,000 entries, and no project has more than 5,000",
    ),
    "thousands of entries": (archive(many_entries()), "and no project has more than 5,000"),
    "expanding entities": (archive(definition(BILLION)), "declares a document type or entities"),
    "an entity from outside": (archive(definition(OUTSIDE)), "declares a document type"),
    "a path out of the archive": (
        archive(entries() | {"input/hierarchies/../../../etc/x.csv": "1;*"}),
        "has a path that leads out of the archive",
    ),
    "an absolute path": (
        archive(entries() | {"/etc/cron.d/x": ""}),
        "has a path that leads out of the archive",
    ),
    "deep XML": (
        archive(definition("<a>" * 100_000 + "</a>" * 100_000)),
        "is nested deeper than 20 levels",
    ),
    "a million elements": (
        archive(definition("<definition>" + "<a/>" * 150_000 + "</definition>")),
        "has more than 100,000 elements",
    ),
    "XML that is none": (archive(definition("<definition><assigment>")), "is no XML (line 1)"),
    "a wrong encoding": (
        archive(definition("<definition>ä</definition>".encode("latin-1"))),
        "is not UTF-8 (byte 13)",
    ),
    "UTF-16": (
        archive(definition("<definition/>".encode("utf-16"))),
        "is not UTF-8 (byte 1)",
    ),
    "a ZIP that was cut off": (of_bytes(cut_off), "is no whole ZIP archive"),
    "an encrypted entry": (of_bytes(with_password), "is encrypted"),
    "an entry twice": (of_bytes(twice), "two entries with the same name"),
    "a damaged entry": (of_bytes(with_fault), "is damaged"),
    "another vocabulary": (
        archive(project(**{"metadata.xml": METADATA.replace("2.0", "1.0")})),
        "has vocabulary 1.0, and only 2.0 is read",
    ),
    "a ZIP that is no project": (
        archive({"a.txt": "b"}),
        "is a ZIP archive, but no project of ARX",
    ),
    "a project without columns": (archive(definition("<definition/>")), "defines no column"),
    "a column of many lines": (
        archive(
            definition(
                f"<definition><assigment><name>a\nroles: confirmed</name><type>{QI}</type>"
                "</assigment></definition>"
            )
        ),
        "column 1 has no name that a column can have",
    ),
    "a column twice": (
        archive(definition(f"<definition>{ASSIGNMENT * 2}</definition>")),
        "defines a column twice",
    ),
    "a script with computed arguments alone": (
        write_file("x.R", "x <- createSdcObj(d, keyVars = names(d)[1:3])\n"),
        "keyVars (line 1): is computed by the script, and no R is run",
    ),
    "a script that would delete files": (
        write_file("x.R", 'system("rm -rf /")\nunlink("~", recursive = TRUE)\n'),
        "has no call of createSdcObj outside of functions",
    ),
    "a script of brackets": (write_file("x.R", R + "(" * 60 + ")" * 60), "nested deeper than 50"),
    "a script with an open bracket": (
        write_file("x.R", "createSdcObj(d, c('a'"),
        "is never closed",
    ),
    "a script that is no R": (write_file("x.R", "x <- '"), "is no R script (line 1)"),
    "a script with two set-ups": (
        write_file("x.R", R * 2),
        "calls createSdcObj 2 times (lines 1, 2)",
    ),
    "a script of two mebibytes": (
        write_file("x.R", R + "#" * (2 << 20)),
        "larger than 1,048,576 bytes",
    ),
    "a script with zero bytes": (write_file("x.R", R + "\0"), "contains a zero byte"),
    "a data file of R": (write_file("x.rda", b"\x1f\x8b\x08" + b"\0" * 50), "is a data file of R"),
    "a variable without a length": (
        write_file("x.rda", '<SEPARATOR> ";"\nSize\n<RECODEABLE>\n'),
        "needs a length between 1 and 10,000",
    ),
    "metadata of frequencies": (
        write_file("x.rda", '<SEPARATOR> ";"\nSize 2\n<FREQUENCY>\n'),
        "<FREQUENCY> describes a table of counts or sums",
    ),
    "a gigantic position": (
        write_file("x.rda", "age 99999999999999999999 2\n"),
        "needs a position and a length between 1 and 10,000",
    ),
    "a report that is none": (write_file("x.html", "<html><p>Hello"), "is no report of sdcMicro"),
    "a hierarchy that does not nest": (
        write_file("age.csv", "1;a;x\n2;a;y\n"),
        "row 2: the label of level 1 has other labels behind it",
    ),
    "a hierarchy with a quote": (write_file("age.csv", '1;"a\n2;b'), "cannot be parsed as CSV"),
    "a file of no known kind": (write_file("x.exe", "MZ"), "cannot be imported. These can"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_with_a_message(name, tmp_path):
    make, message = HOSTILE[name]
    path = make(tmp_path)
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    with pytest.raises(InputError) as raised:
        read_setup(path)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 1_000
    assert time.process_time() - start < 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # KiB


def test_nothing_is_written_for_a_hostile_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    deid(tmp_path / "x.deid", definition(BILLION))
    assert run(["init", "--from", "x.deid"]) == 2
    assert "declares a document type or entities" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["x.deid"]


GIGANTIC = {
    "9" * 400 + "-anonymity": "is longer than|is no number|not known",
    "99999999999999-anonymity": "its number is no number that a promise can have",
    "0-anonymity": "its number is no number that a promise can have",
    "1e400-closeness with equal ground-distance for attribute 'illness'": "its number",
    "5-anonymity\nroles: confirmed": "is not known here",
    "distinct-3-diversity for attribute 'other'": "its column is not sensitive in the project",
}


@pytest.mark.parametrize("criterion", GIGANTIC)
def test_a_hostile_criterion_is_named_and_not_taken_over(criterion, tmp_path, draft):
    made = entries() | {"input/config.xml": config([criterion], limit="1e999", metric="x\ny")}
    written_spec = draft(deid(tmp_path / "people.deid", made))
    named = [o for o in written_spec.omissions if o.startswith(criterion[:11])]
    assert named
    assert any(words in named[0] for words in GIGANTIC[criterion].split("|"))
    assert any("is no share between 0 and 1" in omission for omission in written_spec.omissions)
    text = written_spec.spec.read_text(encoding="utf-8")
    assert text.count("\nroles: ") == 1
    assert "roles: confirmed" not in [line.strip() for line in text.splitlines()]


def test_a_hierarchy_of_a_project_that_does_not_nest_is_left_out_alone(tmp_path, draft):
    made = entries() | {"input/hierarchies/age.csv": AGES + "20;twice;*\n"}
    written_spec = draft(deid(tmp_path / "people.deid", made))
    assert any(
        o.startswith("the hierarchy of 'age': row 61: the leaf is in an earlier row already")
        for o in written_spec.omissions
    )
    assert (tmp_path / "hierarchies/drafted-town.draft.csv").exists()
    assert not (tmp_path / "hierarchies/drafted-age.draft.csv").exists()


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("../../etc/passwd", "is no name of a file beside the metadata"),
        ("C:\\Windows\\x.hrc", "is no name of a file beside the metadata"),
        ("/etc/passwd", "is no name of a file beside the metadata"),
        ("link.hrc", "is a link, and links are not followed"),
        ("missing.hrc", "cannot be read"),
        ("deep.hrc", "is deeper than 20 levels"),
    ],
)
def test_code_lists_elsewhere_are_not_read(file, words, tmp_path):
    (tmp_path / "link.hrc").symlink_to("/etc/passwd")
    (tmp_path / "deep.hrc").write_text("".join("@" * n + f"c{n}\n" for n in range(30)))
    (tmp_path / "x.rda").write_text(RDA.replace("town.hrc", file).replace("town.cdl", file))
    setup = read_setup(tmp_path / "x.rda")
    assert setup.columns["town"].rows is None
    assert [o for o in setup.omissions if words in o.why and "'town'" in o.what]


def test_a_column_is_not_sensitive_by_a_name_of_its_own(tmp_path, draft):
    name = "a: {role: sensitive}, b"
    columns = COLUMNS | {name: (QI, "String", None)}
    written_spec = draft(deid(tmp_path / "people.deid", entries(columns=columns)))
    text = written_spec.spec.read_text(encoding="utf-8")
    assert "'a: {role: sensitive}, b': {role: quasi-identifier}" in text


@pytest.mark.parametrize("text", ["1e999", "0x10", "nan", "inf", "1" * 40, "", "1_000", "٣", "--1"])
def test_what_is_no_number_of_a_project(text):
    assert exact_number(text) is None
    assert whole_number(text) is None
