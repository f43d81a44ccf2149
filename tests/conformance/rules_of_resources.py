"""Rules about the list of files, the hierarchies and the observations that a manifest states."""

from collections.abc import Callable
from random import Random

from tests.conformance.drafts import Document, Draft
from tests.conformance.rulebook import refuses, require


def _change_entry(draft: Draft, rng: Random, change: Callable[[Document], object]) -> None:
    number = rng.randrange(100)

    def alter(document: Document) -> None:
        change(document["resources"][number % len(document["resources"])])

    draft.state(alter)


@refuses("resources-wrong")
def entries_in_another_order(draft: Draft, rng: Random) -> None:
    """Exchange two entries of the list of files."""

    def change(document: Document) -> None:
        entries = document["resources"]
        place = rng.randrange(len(entries) - 1)
        entries[place], entries[place + 1] = entries[place + 1], entries[place]

    draft.state(change)


@refuses("resources-wrong", "file-unexpected")
def entry_removed(draft: Draft, rng: Random) -> None:
    """Leave a file out of the list."""
    number = rng.randrange(100)
    draft.state(lambda document: document["resources"].pop(number % len(document["resources"])))


@refuses("resources-wrong")
def entry_twice(draft: Draft, rng: Random) -> None:
    """List a file twice."""

    def change(document: Document) -> None:
        place = rng.randrange(len(document["resources"]))
        document["resources"].insert(place, document["resources"][place])

    draft.state(change)


@refuses("resources-wrong", "manifest-schema")
def entry_otherwise(draft: Draft, rng: Random) -> None:
    """State another name, format or medium of a file."""
    key, value = rng.choice(
        [("name", "other"), ("format", "xlsx"), ("mediatype", "text/plain"), ("more", "text")]
    )
    _change_entry(draft, rng, lambda entry: entry.update({key: value}))


@refuses("resources-wrong", "manifest-schema", "file-missing", "file-unexpected")
def entry_of_another_path(draft: Draft, rng: Random) -> None:
    """List another path in the place of a file's."""
    path = rng.choice(["../outside.json", "/etc/passwd", "data/none.parquet", "./index.html", ""])
    _change_entry(draft, rng, lambda entry: entry.update(path=path))


@refuses("resources-wrong", "manifest-schema")
def entry_without_a_key(draft: Draft, rng: Random) -> None:
    """Leave a key of an entry out."""
    key = rng.choice(["name", "path", "format", "mediatype", "bytes", "hash"])
    _change_entry(draft, rng, lambda entry: entry.pop(key))


def _fields(document: Document, rng: Random) -> list[Document]:
    tables = [entry for entry in document["resources"] if entry["path"].startswith("data/")]
    require(tables)
    fields: list[Document] = rng.choice(tables)["schema"]["fields"]
    return fields


@refuses("resources-wrong")
def field_otherwise(draft: Draft, rng: Random) -> None:
    """Say something else of a column of a table."""
    key, value = rng.choice(
        [("name", "other"), ("type", "any"), ("description", "More"), ("format", "email")]
    )

    def change(document: Document) -> None:
        rng.choice(_fields(document, rng)).update({key: value})

    draft.state(change)


@refuses("resources-wrong")
def field_required_otherwise(draft: Draft, rng: Random) -> None:
    """Say that a column allows missing values where it does not, or the reverse."""

    def change(document: Document) -> None:
        field = rng.choice(_fields(document, rng))
        if field.pop("constraints", None) is None:
            field["constraints"] = {"required": True}

    draft.state(change)


@refuses("resources-wrong")
def fields_in_another_order(draft: Draft, rng: Random) -> None:
    """List the columns of a table in reverse."""

    def change(document: Document) -> None:
        _fields(document, rng).reverse()

    draft.state(change)


@refuses("resources-wrong")
def encoding_left_out(draft: Draft, rng: Random) -> None:
    """Leave out in which encoding a text is."""
    entries = [e["path"] for e in draft.document["resources"] if "encoding" in e]
    require(entries)
    path = rng.choice(entries)

    def change(document: Document) -> None:
        next(e for e in document["resources"] if e["path"] == path).pop("encoding")

    draft.state(change)


def _array(terms: Document) -> Document:
    """Return the first column whose hierarchy is an array."""
    columns: list[Document] = [c for c in terms["columns"] if isinstance(c.get("hierarchy"), list)]
    require(columns)
    return columns[0]


def _change_hierarchy(draft: Draft, change: Callable[[list[list[str]]], object]) -> None:
    draft.declare(lambda terms: change(_array(terms)["hierarchy"]))


@refuses("hierarchy-wrong", "hierarchy-differs")
def leaf_twice(draft: Draft, rng: Random) -> None:
    """Give a hierarchy the same leaf twice."""
    _change_hierarchy(draft, lambda rows: rows.append(rng.choice(rows)))


@refuses("hierarchy-wrong", "hierarchy-differs")
def root_otherwise(draft: Draft, rng: Random) -> None:
    """Name the root of a hierarchy otherwise than by a star."""
    root = rng.choice(["all", "", "**"])
    _change_hierarchy(draft, lambda rows: [row.__setitem__(-1, root) for row in rows])


@refuses("hierarchy-wrong", "hierarchy-differs")
def rows_of_unequal_length(draft: Draft, rng: Random) -> None:
    """Leave a level of one leaf out, or give it one more."""

    def change(rows: list[list[str]]) -> None:
        require(len(rows) > 1)
        row = rng.choice(rows)
        row.insert(1, "more") if rng.random() < 0.5 else row.pop(1)

    _change_hierarchy(draft, change)


@refuses("hierarchy-wrong", "hierarchy-differs", "label-unreadable", "leaves-unpublished")
def label_above_two_parents(draft: Draft, rng: Random) -> None:
    """Let two leaves share a label on a level, and not the label above it."""

    def change(rows: list[list[str]]) -> None:
        require(len(rows) > 1)
        for row in rows:
            row.insert(-1, "above")
        rng.choice(rows)[-2] = "elsewhere"
        for row in rows:
            row[1] = "shared"

    _change_hierarchy(draft, change)


@refuses("hierarchy-wrong", "hierarchy-differs")
def label_that_is_empty(draft: Draft, rng: Random) -> None:
    """Leave a label of a hierarchy empty."""

    def change(rows: list[list[str]]) -> None:
        row = rng.choice(rows)
        row[rng.randrange(len(row) - 1)] = ""

    _change_hierarchy(draft, change)


@refuses("hierarchy-wrong", "manifest-schema", "file-unexpected", "label-unreadable")
def hierarchy_of_another_type(draft: Draft, rng: Random) -> None:
    """Declare a hierarchy that the type of its column cannot have."""
    fits = {"intervals": "integer", "dates": "date", "prefixes": "string"}
    rules: list[Document] = [{"intervals": [10, 20]}, {"dates": ["month"]}, {"prefixes": [2, 1]}]
    rule = rng.choice(rules)
    wanted_type = fits[next(iter(rule))]
    columns = [
        c["name"]
        for c in draft.terms["columns"]
        if c["type"] != wanted_type and "hierarchy" not in c and c["role"] != "insensitive"
    ]
    require(columns and not draft.in_parts)
    name = rng.choice(columns)
    draft.declare(
        lambda terms: next(c for c in terms["columns"] if c["name"] == name).update(hierarchy=rule)
    )


@refuses("manifest-schema")
def levels_that_do_not_nest(draft: Draft, rng: Random) -> None:
    """Declare widths, periods or lengths that do not nest."""
    wrong = {
        "intervals": rng.choice([[10, 5], [5, 5], [4, 10], [], [0]]),
        "dates": rng.choice([["year", "month"], ["month", "month"], ["week"], []]),
        "prefixes": rng.choice([[2, 4], [2, 2], [], [0]]),
    }
    columns = [c for c in draft.terms["columns"] if isinstance(c.get("hierarchy"), dict)]
    require(columns)
    name = rng.choice(columns)["name"]

    def change(terms: Document) -> None:
        column = next(c for c in terms["columns"] if c["name"] == name)
        column["hierarchy"] = {key: wrong[key] for key in column["hierarchy"]}

    draft.declare(change)


@refuses("observed-wrong", "manifest-schema")
def observed_figure_otherwise(draft: Draft, rng: Random) -> None:
    """State another figure of a promise."""

    def change(terms: Document) -> None:
        observed = rng.choice(terms["observed"])["observed"]
        name = rng.choice(sorted(observed))
        observed[name] = observed[name] + 1 if isinstance(observed[name], int) else "0.123"

    draft.declare(change)


@refuses("observed-wrong", "manifest-schema", "statement-wrong")
def observed_groups_otherwise(draft: Draft, rng: Random) -> None:
    """State another number of groups."""
    more = rng.choice([-1, 1, 7])

    def change(terms: Document) -> None:
        rng.choice(terms["observed"])["groups"] += more

    draft.declare(change)


@refuses("observed-wrong", "manifest-schema")
def observed_of_another_promise(draft: Draft, rng: Random) -> None:
    """Observe another promise than the one that is made."""

    def change(terms: Document) -> None:
        entry = rng.choice(terms["observed"])
        entry["promise"] = {**entry["promise"], "quasi-identifiers": ["other"]}

    draft.declare(change)


@refuses("observed-wrong", "manifest-schema")
def observation_removed(draft: Draft, rng: Random) -> None:
    """Leave the observation of a promise out, or state one twice."""

    def change(terms: Document) -> None:
        place = rng.randrange(len(terms["observed"]))
        if rng.random() < 0.5:
            terms["observed"].pop(place)
        else:
            terms["observed"].insert(place, terms["observed"][place])

    draft.declare(change)


@refuses("observed-wrong", "manifest-schema")
def observation_with_more(draft: Draft, rng: Random) -> None:
    """Observe a figure that the promise does not have, or people where nobody has several rows."""
    terms = draft.terms
    require("households" not in terms and "rows_per_unit" not in terms)

    def change(terms: Document) -> None:
        entry = rng.choice(terms["observed"])
        if rng.random() < 0.5:
            entry["observed"]["more"] = 1
        else:
            entry["people"] = entry["observed"]

    draft.declare(change)


@refuses("manifest-schema", "validation-wrong")
def name_of_no_column(draft: Draft, rng: Random) -> None:
    """Let strata, linked columns or rounds name a column that there is not."""
    require(not draft.in_parts)
    key = rng.choice(["strata", "rounds"] if draft.form == "ambiguous" else ["strata", "linked"])
    require(key != "linked" or draft.form == "suppressed")

    def change(terms: Document) -> None:
        if key == "linked":
            quasi = [c["name"] for c in terms["columns"] if c["role"] == "quasi-identifier"]
            terms["form"]["linked"] = [[quasi[0], "nobody's"]]
        elif key == "strata":
            terms["strata"] = ["nobody's"]
        else:
            terms["rounds"] = {**terms.get("rounds", {}), "nobody's": 2}
            terms["format"] = max(11, terms.get("format", 0))

    draft.declare(change)
