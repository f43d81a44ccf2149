"""Rules about the manifest: its bytes, digest, schema, format, statements and list of files."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

from tests.conformance.drafts import MANIFEST, Document, Draft, NotApplicableError
from tests.conformance.rulebook import Expected, not_judged, refusal, refuses, require, valid

Change = Callable[[Document], Any]


def _rewrite(draft: Draft, old: bytes, new: bytes) -> None:
    content = draft.files[MANIFEST]
    require(old in content)
    draft.files[MANIFEST] = content.replace(old, new, 1)


@refuses("manifest-not-canonical")
def manifest_spaced(draft: Draft, rng: Random) -> None:
    """Write a space between two tokens."""
    old, new = rng.choice([(b'":', b'": '), (b",", b" ,"), (b"{", b"{ "), (b'":[', b'":\n[')])
    _rewrite(draft, old, new)


@refuses("manifest-not-canonical")
def manifest_framed(draft: Draft, rng: Random) -> None:
    """Write something before or after the document."""
    before, after = rng.choice([(b"", b"\n"), (b"\xef\xbb\xbf", b""), (b" ", b""), (b"", b"{}")])
    draft.files[MANIFEST] = before + draft.files[MANIFEST] + after


@refuses("manifest-not-canonical")
def manifest_key_twice(draft: Draft, rng: Random) -> None:
    """Write a key a second time, with the same value or another."""
    document = draft.document
    key = rng.choice(["name", "title"])
    text = json.dumps(rng.choice([document[key], "other"]), ensure_ascii=False)
    _rewrite(draft, f'"{key}":'.encode(), f'"{key}":{text},"{key}":'.encode())


@refuses("manifest-not-canonical")
def manifest_keys_unsorted(draft: Draft, rng: Random) -> None:
    """Write the keys of the package in another order."""
    document = draft.document
    keys = sorted(document, reverse=True) if rng.random() < 0.5 else rng.sample(list(document), 3)
    order = [*keys, *(key for key in document if key not in keys)]
    require(order != list(document))
    reordered = {key: document[key] for key in order}
    text = json.dumps(reordered, separators=(",", ":"), ensure_ascii=False)
    draft.files[MANIFEST] = text.encode()


@refuses("manifest-not-canonical")
def manifest_escaped(draft: Draft, rng: Random) -> None:
    """Escape a character that needs no escape."""
    letter = rng.choice(draft.document["name"])
    if not letter.isalpha():
        raise NotApplicableError
    at_start = f'"name":"{draft.document["name"]}"'
    escaped = at_start[:8] + at_start[8:].replace(letter, f"\\u{ord(letter):04x}", 1)
    _rewrite(draft, at_start.encode(), escaped.encode())


@refuses("manifest-not-canonical")
def manifest_number_otherwise(draft: Draft, rng: Random) -> None:
    """Write a whole number with a fraction, an exponent or a sign."""
    number = draft.terms["rows"]["read"]
    other = rng.choice([f"{number}.0", f"{number}e0", f"0{number}"])
    _rewrite(draft, f'"read":{number}'.encode(), f'"read":{other}'.encode())


@refuses("manifest-not-canonical")
def manifest_damaged(draft: Draft, rng: Random) -> None:
    """Damage the text of the document so that it is no JSON in UTF-8."""
    content = draft.files[MANIFEST]
    changes = [
        content[: rng.randrange(1, len(content))],
        content.replace(b'"title":"', b'"title":"\xff', 1),
        content.replace(b'"title":"', b'"title":"\x01', 1),
        content.replace(b'"title":"', b'"title":"\\ud800', 1),
        content[1:],
        b"",
    ]
    draft.files[MANIFEST] = rng.choice(changes)


@refuses("manifest-not-canonical", "manifest-schema")
def manifest_nested(draft: Draft, rng: Random) -> None:
    """Nest arrays deeper than 50 levels."""
    depth = rng.choice([60, 3000])
    _rewrite(draft, b'"title":', b'"more":' + b"[" * depth + b"]" * depth + b',"title":')


@refuses("manifest-not-canonical", "manifest-schema")
def manifest_of_another_kind(draft: Draft, rng: Random) -> None:
    """Put another document of JSON in the place of the manifest."""
    draft.files[MANIFEST] = rng.choice([b"[]", b"null", b"1", b'"text"', b"{}", b'{"sfumato":{}}'])


@refuses("manifest-not-canonical", "manifest-schema", "counts-contradict")
def manifest_number_too_large(draft: Draft, _rng: Random) -> None:
    """Write a whole number beyond those that all readers have."""
    number = draft.terms["rows"]["read"]
    _rewrite(draft, f'"read":{number}'.encode(), f'"read":{2**53}'.encode())


@refuses("digest-wrong")
def digest_otherwise(draft: Draft, rng: Random) -> None:
    """Change one digit of the digest."""
    digest = draft.terms["digest"]
    place = rng.randrange(64)
    digit = rng.choice([digit for digit in "0123456789abcdef" if digit != digest[place]])
    _rewrite(draft, digest.encode(), (digest[:place] + digit + digest[place + 1 :]).encode())


@refuses("digest-wrong", "manifest-schema")
def digest_in_capitals(draft: Draft, _rng: Random) -> None:
    """Write the digest in capital letters."""
    digest = draft.terms["digest"]
    require(digest != digest.upper())
    _rewrite(draft, digest.encode(), digest.upper().encode())


@refuses("digest-wrong", "manifest-schema")
def digest_of_nothing(draft: Draft, rng: Random) -> None:
    """Leave digits of the digest out, or all of them."""
    digest = draft.terms["digest"]
    _rewrite(draft, digest.encode(), digest[: rng.choice([0, 63])].encode())


@refuses("digest-wrong")
def statement_without_a_seal(draft: Draft, rng: Random) -> None:
    """Change a statement and leave the digest as it was."""
    number = draft.terms["rows"]["dropped_by_filter"]
    read = draft.terms["rows"]["read"]
    more = rng.randint(1, 9)
    _rewrite(
        draft,
        f'"dropped_by_filter":{number}'.encode(),
        f'"dropped_by_filter":{number + more}'.encode(),
    )
    _rewrite(draft, f'"read":{read}'.encode(), f'"read":{read + more}'.encode())


@refuses("manifest-schema")
def unknown_key(draft: Draft, rng: Random) -> None:
    """Add a key that no manifest has."""
    key, value = rng.choice(["more", "Format", "x-y", ""]), rng.choice([1, "text", [], {}])
    place = rng.choice(_PLACES)
    draft.state(lambda document: place(document).update({key: value}))


@refuses("manifest-schema")
def key_of_null(draft: Draft, rng: Random) -> None:
    """Give a key the value null."""
    key = rng.choice(["predecessor", "window", "exposure", "bars", "words", "parts", "rounds"])
    require(key not in draft.terms)
    draft.declare(lambda terms: terms.update({key: None}))


@refuses("manifest-schema")
def key_removed(draft: Draft, rng: Random) -> None:
    """Remove a key that every declaration has."""
    key = rng.choice(
        [
            *("unit", "versions", "columns", "strata", "promises", "partition", "form", "formats"),
            *("rows", "software", "name", "title", "observed"),
        ]
    )
    draft.declare(lambda terms: terms.pop(key))


@refuses("manifest-schema")
def key_of_column_removed(draft: Draft, rng: Random) -> None:
    """Remove a key that every column has."""
    key = rng.choice(["name", "role", "type", "nulls"])
    draft.declare(lambda terms: terms["columns"][0].pop(key))


@refuses("manifest-schema")
def default_written(draft: Draft, rng: Random) -> None:
    """Write a later key at its default, where it must be absent."""
    key, value = rng.choice(
        [
            ("csv", {"formulas": "keep"}),
            ("households", False),
            ("rows_per_unit", "one"),
            ("words", {}),
            ("rounds", {}),
            ("made_of", []),
        ]
    )
    require(key not in draft.terms)
    draft.declare(lambda terms: terms.update({key: value}))


@refuses("manifest-schema")
def default_of_column_written(draft: Draft, rng: Random) -> None:
    """Write a later key of a column at its default."""
    key, value = rng.choice([("leaves", "all"), ("weight", False), ("bottom", None)])
    require(key not in draft.terms["columns"][0])
    draft.declare(lambda terms: terms["columns"][0].update({key: value}))


@refuses("manifest-schema", "file-unexpected", "promise-scope")
def value_of_another_kind(draft: Draft, rng: Random) -> None:
    """Give a key a value of another type, or one that is not among its values."""
    key, value = rng.choice(
        [
            ("unit", "person"),
            ("unit", 1),
            ("versions", "separate"),
            ("columns", {}),
            ("strata", "age"),
            ("promises", []),
            ("formats", "parquet"),
            ("formats", ["csv"]),
            ("formats", ["parquet", "xlsx"]),
            ("name", "Not A Name"),
            ("title", ""),
            ("software", {"sfumato": 1}),
            ("observed", {}),
            ("rows", []),
        ]
    )
    draft.declare(lambda terms: terms.update({key: value}))


@refuses("manifest-schema")
def format_of_files_twice(draft: Draft, rng: Random) -> None:
    """Name a format of files twice."""
    twice = rng.choice([["parquet", "parquet"], ["parquet", "csv", "csv"]])
    require(set(twice) == set(draft.terms["formats"]))
    draft.declare(lambda terms: terms.update(formats=twice))


@refuses("manifest-schema")
def value_of_column_of_another_kind(draft: Draft, rng: Random) -> None:
    """Give a key of a column a value that it cannot have."""
    key, value = rng.choice(
        [
            ("role", "identifier"),
            ("role", "Sensitive"),
            ("type", "text"),
            ("type", None),
            ("nulls", 1),
            ("nulls", "false"),
            ("scale", 39),
            ("scale", -1),
            ("leaves", "none"),
        ]
    )
    draft.declare(lambda terms: terms["columns"][0].update({key: value}))


@refuses("manifest-schema", "resources-wrong", "table-schema", "file-missing", "file-unexpected")
def column_twice(draft: Draft, rng: Random) -> None:
    """Declare a column a second time."""
    require(not draft.in_parts)
    draft.declare(lambda terms: terms["columns"].append(rng.choice(terms["columns"])))


@refuses("manifest-schema")
def number_written_otherwise(draft: Draft, rng: Random) -> None:
    """Write the number of a promise in another way, in the observation, too."""
    require(not draft.in_parts)
    names = ("k", "l", "e", "t", "alpha", "beta", "delta", "c", "tolerance")
    promises = list(enumerate(draft.terms["promises"]))
    choices = [(i, name) for i, promise in promises for name in names if name in promise]
    require(choices)
    i, name = rng.choice(choices)
    value = draft.terms["promises"][i][name]
    others = [f"{value}0" if "." in str(value) else f"{value}.0", f"0{value}", f"+{value}"]
    other = rng.choice(
        [*others, f"{value}e0", str(value) if isinstance(value, int) else float(value)]
    )
    require(not isinstance(other, float) or not other.is_integer())

    def change(terms: Document) -> None:
        terms["promises"][i][name] = other
        terms["observed"][i]["promise"][name] = other

    draft.declare(change)


@refuses("manifest-schema")
def title_of_the_package_alone(draft: Draft, rng: Random) -> None:
    """Change name or title of the package, and not those of the declaration."""
    key, value = rng.choice([("title", "Another"), ("name", "another"), ("$schema", "https://x.y")])
    draft.state(lambda document: document.update({key: value}))


@refuses("manifest-schema")
def words_of_the_package_otherwise(draft: Draft, rng: Random) -> None:
    """Let the package state a description, licence or contributor that the words do not have."""
    key, value = rng.choice(
        [
            ("description", "Another"),
            ("licenses", [{"name": "CC0-1.0"}]),
            ("contributors", [{"title": "Nobody", "roles": ["publisher"]}]),
        ]
    )
    draft.state(lambda document: document.update({key: value}))


def _highest(terms: Document) -> int:
    return int(terms.get("format", 0))


@refuses("format-wrong")
def format_too_high(draft: Draft, rng: Random) -> None:
    """State a higher format than the lowest that fits."""
    require(_highest(draft.terms) < 15)
    number = rng.randint(_highest(draft.terms) + 1, 15)
    draft.declare(lambda terms: terms.update(format=number))


@refuses("format-wrong")
def format_too_low(draft: Draft, rng: Random) -> None:
    """State a lower format than the keys need, or none."""
    require(_highest(draft.terms))
    number = rng.randrange(_highest(draft.terms))
    draft.declare(lambda terms: terms.update(format=number) if number else terms.pop("format"))


@refuses("format-wrong", "manifest-schema")
def format_of_zero(draft: Draft, _rng: Random) -> None:
    """State format 0, which is written as no format."""
    draft.declare(lambda terms: terms.update(format=0))


@refuses("format-wrong", "manifest-schema")
def format_of_another_kind(draft: Draft, rng: Random) -> None:
    """State a format that is no whole number."""
    value = rng.choice(["6", 1.5, -1, True, [6], {}])
    draft.declare(lambda terms: terms.update(format=value))


@not_judged("format-newer")
def format_of_the_future(draft: Draft, rng: Random) -> None:
    """State a format that came after this specification."""
    draft.declare(lambda terms: terms.update(format=rng.choice([17, 18, 1000])))


@refuses("counts-contradict")
def rows_that_do_not_add_up(draft: Draft, rng: Random) -> None:
    """State another number of rows that were read, or left out."""
    key = rng.choice(["read", "dropped_by_filter", "dropped_for_nulls", "dropped_as_repeats"])
    more = rng.randint(1, 5)
    draft.declare(lambda terms: terms["rows"].update({key: terms["rows"][key] + more}))


@refuses("counts-contradict", "manifest-schema")
def rows_below_zero(draft: Draft, rng: Random) -> None:
    """State fewer than no rows that were left out, so that all add up."""

    def change(terms: Document) -> None:
        rows, less = terms["rows"], terms["rows"]["dropped_by_filter"] + rng.randint(1, 3)
        require(rows["read"] > less)
        rows["dropped_by_filter"] -= less
        rows["read"] -= less

    draft.declare(change)


@refuses("counts-contradict")
def values_made_up_elsewhere(draft: Draft, rng: Random) -> None:
    """State values that were made up, in a form that has none."""
    require(draft.form != "redistributed")
    draft.declare(lambda terms: terms["rows"].update(fakes=rng.randint(1, 3)))


@valid
def rows_left_out_otherwise(draft: Draft, rng: Random) -> None:
    """State that more rows were read and left out, which no file shows."""
    key = rng.choice(["dropped_by_filter", "dropped_for_nulls", "dropped_as_repeats", "suppressed"])
    more = rng.randint(1, 9)

    def change(terms: Document) -> None:
        terms["rows"][key] += more
        terms["rows"]["read"] += more

    draft.rebuild(change)


@valid
def title_otherwise(draft: Draft, rng: Random) -> None:
    """Give the release another title, in all of its files."""
    title = rng.choice(["Another", "«Naïve» & <b>", "x" * 200, "𝄞", "\u05d0\u05d1"])
    draft.rebuild(lambda terms: terms.update(title=title))


@valid
def words_otherwise(draft: Draft, rng: Random) -> None:
    """Give the release other words of its publisher."""
    key, value = rng.choice(
        [
            ("publisher", "Somebody else"),
            ("description", "Made up, every one of them."),
            ("licence", "CC0-1.0"),
            ("licence", "https://example.org/terms"),
            ("contact", "desk@example.org"),
            ("contact", "the desk in the hall"),
        ]
    )
    draft.rebuild(lambda terms: terms.setdefault("words", {}).update({key: value}))


@valid
def column_described(draft: Draft, rng: Random) -> None:
    """Describe a column, which the fields of every table then have."""

    def change(terms: Document) -> None:
        column = rng.choice(terms["columns"])["name"]
        terms.setdefault("words", {}).setdefault("columns", {})[column] = "As it was asked"

    draft.rebuild(change)


@refuses("statement-wrong", "resources-wrong", "manifest-schema", "format-wrong")
def nobodys_column_described(draft: Draft, _rng: Random) -> None:
    """Describe a column that there is not."""

    def change(terms: Document) -> None:
        terms.setdefault("words", {}).setdefault("columns", {})["nobody's"] = "As it was asked"
        terms["format"] = max(6, _highest(terms))

    draft.declare(change)


@refuses("statement-wrong")
def exposure_that_contradicts_itself(draft: Draft, rng: Random) -> object:
    """State more people who face one value than who face few."""
    require(not draft.in_parts)
    sensitive = [c["name"] for c in draft.terms["columns"] if c["role"] == "sensitive"]
    require(sensitive and "exposure" not in draft.terms)
    right, wrong = {"people": 9, "one": 1, "few": 2}, {"people": 9, "one": 3, "few": 2}
    name, counts = rng.choice([(sensitive[0], wrong), ("nobody's", right)])

    def change(terms: Document) -> None:
        column = {"column": name, "asked": 2, "intersection": counts}
        column |= {"newcomers": right, "leavers": right}
        terms["exposure"] = {"versions": 2, "lines": 1, "columns": [column]}
        terms["format"] = max(2, _highest(terms))

    draft.declare(change)
    return refusal("statement-wrong", "manifest-schema")


@refuses("statement-wrong")
def factor_of_another_grid(draft: Draft, rng: Random) -> Expected:
    """State a factor of likely intervals that is not on the grid, or for no column."""
    require(not draft.in_parts)
    sensitive = [c["name"] for c in draft.terms["columns"] if c["role"] == "sensitive"]
    require(sensitive and "intervals" not in draft.terms)
    family = rng.choice(
        [
            {"family": "rows-by-one", "of": "", "factor": "1.7"},
            {"family": "rows-by-one", "of": sensitive[0], "factor": "2"},
            {"family": "sum-by-one", "of": "", "factor": "2"},
            {"family": "sum-by-one", "of": sensitive[0], "factor": "20000"},
            {"family": "mode-by-one", "of": sensitive[0], "factor": "2"},
        ]
    )

    def change(terms: Document) -> None:
        terms["intervals"] = {"level": 95, "families": [family]}
        terms["format"] = max(5, _highest(terms))

    draft.declare(change)
    return refusal("statement-wrong", "manifest-schema")


_PLACES: tuple[Callable[[Document], Document], ...] = (
    lambda document: document,
    lambda document: document["sfumato"],
    lambda document: document["sfumato"]["rows"],
    lambda document: document["sfumato"]["columns"][0],
    lambda document: document["sfumato"]["form"],
    lambda document: document["sfumato"]["partition"],
)
"""Objects of a manifest whose keys the schema lists."""
