"""Projects of other tools, made here by their public formats, and the tables they are about."""

import io
import zipfile
from xml.sax.saxutils import escape

NAMES = ("age", "town", "sex", "illness")


def people(rows=240):
    """A table of people: many ages, few people in the last town, two sexes, five illnesses."""
    towns = ("Ulm", "Bonn", "Kiel", "Jena")
    ills = ("flu", "asthma", "gout", "ulcer", "measles")
    return [
        (
            str(20 + (n * n * 31 + 17 * n) % 97 % 60),
            towns[(1, 0, 2, 0, 1, 0, 3, 0, 2, 1, 0, 0, 1)[n % 13] if n % 5 else n % 2],
            "FM"[n * 7 % 11 % 2],
            ills[(n * n + n // 7) % 5],
        )
        for n in range(rows)
    ]


def csv_of(rows, names=NAMES, delimiter=","):
    """A table as CSV."""
    lines = [delimiter.join(map(str, row)) for row in (names, *rows)]
    return ("\n".join(lines) + "\n").encode()


AGES = "".join(f"{n};{n // 10 * 10}-{n // 10 * 10 + 9};*\n" for n in range(20, 80))
TOWNS = "Ulm;South;*\nBonn;West;*\nKiel;North;*\nJena;East;*\n"
SEXES = "F;*\nM;*\n"
ILLS = "flu;lung;*\nasthma;lung;*\ngout;other;*\nulcer;other;*\nmeasles;other;*\n"
QI, SENSITIVE = "QUASI_IDENTIFYING_ATTRIBUTE", "SENSITIVE_ATTRIBUTE"
COLUMNS = {
    "age": (QI, "Integer", AGES),
    "town": (QI, "String", TOWNS),
    "sex": (QI, "String", SEXES),
    "illness": (SENSITIVE, "String", None),
}


def definition(columns=COLUMNS, extra=""):
    """`input/definition.xml`."""
    parts = []
    for name, (kind, datatype, rows) in columns.items():
        reference = (
            ""
            if rows is None
            else f"<ref>hierarchies/{escape(name)}.csv</ref><min>All</min><max>All</max>"
        )
        parts.append(
            f"<assigment><name>{escape(name)}</name><type>{kind}</type>"
            f"<datatype>{datatype}</datatype>{reference}{extra}</assigment>"
        )
    return f"<definition>{''.join(parts)}</definition>"


def config(criteria, limit="0.1", metric="Loss (0.5/1.0/1.0)"):
    """`input/config.xml`."""
    lines = "".join(f"<criterion>{escape(line)}</criterion>" for line in criteria)
    return (
        "<config><suppressedAttributeTypes><type>QUASI_IDENTIFYING_ATTRIBUTE</type>"
        f"</suppressedAttributeTypes><relativeMaxOutliers>{limit}</relativeMaxOutliers>"
        f"<metric>{escape(metric)}</metric><criteria>{lines}</criteria></config>"
    )


METADATA = "<metadata><version>3.9.2</version><vocabulary>2.0</vocabulary></metadata>"
PROJECT = "<project><name>People</name><separator>;</separator></project>"


def entries(criteria=("5-anonymity",), columns=COLUMNS, limit="0.1", **settings):
    """The entries of a project by name; its data are a trap that nobody may read."""
    made = {
        "metadata.xml": METADATA,
        "project.xml": PROJECT,
        "data/input.csv": "never;read\n",
        "project.dat": "\x00never read",
        "input/config.xml": config(criteria, limit, **settings),
        "input/definition.xml": definition(columns),
    }
    for name, (_, _, rows) in columns.items():
        if rows is not None:
            made[f"input/hierarchies/{name}.csv"] = rows
    return made


def deid(path, made, compression=zipfile.ZIP_DEFLATED):
    """Write a project; return its path."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", compression) as archive:
        for name, text in made.items():
            archive.writestr(name, text)
    path.write_bytes(content.getvalue())
    return path


ARX = {
    "k": entries(
        columns=COLUMNS | {"illness": (QI, "String", ILLS)},
        limit="0.05",
    ),
    "l": entries(("4-anonymity", "distinct-3-diversity for attribute 'illness'"), limit="0.2"),
    "t": entries(
        ("3-anonymity", "0.5-closeness with equal ground-distance for attribute 'illness'"),
        limit="0.0",
    ),
}
"""Three projects of ARX by name."""

SDC = {
    "keys": """
library(sdcMicro)
people <- read.csv("people.csv")
kv <- c("town", "sex")
sdc <- createSdcObj(people, keyVars = kv, excludeVars = c("illness", "age"))
sdc <- localSuppression(sdc, k = 10)
""",
    "recoded": """
# ages in bands, then k-anonymity
sdc <- createSdcObj(dat = people, keyVars = c("age", 'town', "sex"), sensibleVar = "illness")
sdc <- globalRecode(sdc, column = "age", breaks = c(19, 29, 39, 49, 59, 69, 79))
sdc <- kAnon(sdc, 4)
""",
    "strata": """
sdc <- createSdcObj(people, keyVars = c("age", "sex"), strataVar = "town", excl = "illness") |>
  topBotCoding(value = 60, replacement = 60, kind = "top", column = "age") |>
  localSuppression(k = 2)
""",
}
"""Three scripts with sdcMicro by name."""

REPORT = """
## Information on selected important (key) variables
- **Categorical key variable(s)**: *town* | *sex*
- **Continuous key variable(s)**: *age*
- **Weight variable**: **
- **householdID**: **
- **strataVariable(s)**: **
- **Sensitive variable(s) for l-diversity**: *illness*

#### Number of observations violating
- **2-Anonymity:** 0 (original dataset: 4)
- **3-Anonymity:** 0 (original dataset: 9)
"""

RDA = """age 1 2 99
  <RECODEABLE>
town 3 4
  <RECODEABLE>
  <CODELIST> "town.cdl"
  <HIERARCHICAL>
  <HIERCODELIST> "town.hrc"
  <HIERLEADSTRING> "@"
sex 7 1
  <RECODEABLE>
cost 8 6
  <NUMERIC>
  <DECIMALS> 2
"""
CDL = "Ulm,City of Ulm\nBonn,City of Bonn\nKiel,City of Kiel\nJena,City of Jena\n"
HRC = "South\n@Ulm\nOther\n@Bonn\n@Kiel\n@Jena\n"


def lines_of_people(rows=240):
    """The table for the metadata of tau-Argus, in lines of fixed width."""
    lines = [
        f"{age:>2}{town:<4}{sex}{(n * 37) % 90 + 10.5:6.2f}"
        for n, (age, town, sex, _) in enumerate(people(rows))
    ]
    return ("\n".join(lines) + "\n").encode()
