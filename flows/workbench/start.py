"""The beginning of the work: a table of the folder, how it is read, and the draft of its spec."""

import csv
import io
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from sfumato.expectations.shared.errors import InputError, SfumatoError, SpecError
from sfumato.flows.inputs.policies import policy_names
from sfumato.flows.workbench.desk import PROJECT_ENDINGS, TABLE_ENDINGS
from sfumato.flows.workbench.jobs import Job
from sfumato.flows.workbench.visit import Bench, Sent
from sfumato.tasks.microdata.readers.delimited import content_of
from sfumato.tasks.microdata.readers.inferred import format_of
from sfumato.tasks.private.durable import copy_atomically
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.profile.dialect import DraftOptions, read_options, sniff_dialect
from sfumato.tasks.schema.names import CsvDialect

_PREVIEWED = 12  # rows
_LOOKED_AT = 1 << 20  # characters of a file
_DROPPED = "dropped"
_LARGEST = 1 << 34  # bytes of a dropped file
_READING = ("encoding", "delimiter", "header", "skip", "columns", "thousands", "decimal", "sheet")
_ANSWERS = ("hide", "about", "unit", "policy")
_TAB = "tab"


def home(bench: Bench) -> dict[str, Any]:
    """Return what the first page shows: specs and tables of the folder."""
    return {
        "folder": str(bench.desk.folder),
        "specs": bench.desk.specs(),
        "tables": bench.desk.files(TABLE_ENDINGS),
        "projects": bench.desk.files(PROJECT_ENDINGS),
        "dropped": sorted(path.name for path in _drop_place(bench).iterdir()),
    }


def table_view(bench: Bench, sent: Sent) -> dict[str, Any]:
    """Return what the page of a table shows: how it is read, its first rows, and questions.

    Raises:
        InputError: where the folder has no such file.
    """
    name = sent.get("file")
    path = bench.desk.path(name)
    settings = _settings(sent)
    preview: dict[str, Any] = {"header": [], "rows": [], "notes": (), "dialect": None}
    problem = ""
    try:
        if _is_text(name):
            preview |= _first_rows(path, name, read_options({}, {}, **settings))
    except SfumatoError as error:
        problem = str(error)
    return {
        "file": name,
        "settings": {key: sent.get(key) for key in _READING},
        "is_text": _is_text(name),
        "policies": policy_names(),
        "spec_name": _free_name(bench, Path(name).stem),
        "projects": bench.desk.files(PROJECT_ENDINGS),
        "problem": problem,
        **preview,
    }


def draft(bench: Bench, sent: Sent) -> str:
    """Start the draft of a spec for a table; return the address of its progress.

    Raises:
        InputError: where the folder has no such file.
        SpecError: where the draft has no fitting name.
    """
    name, spec, project = sent.get("file"), sent.get("spec").strip(), sent.get("project")
    if not spec.endswith((".yaml", ".yml")):
        raise SpecError(f"{spec}: is no name of a spec. Write a name such as costs.yaml")
    place = (bench.desk.folder / spec).resolve()
    if not place.is_relative_to(bench.desk.folder):
        raise SpecError(f"{spec}: is outside the folder. Write a name without `..`")
    if project:
        source = [f"--from={_relative(bench, project)}"]
        source += [f"--data={_relative(bench, name)}"] if name else []
    else:
        source = ["--", _relative(bench, name)]
    options = [f"--{key}={value}" for key, value in _options(sent)]
    arguments = ["init", f"--out={spec}", "--json", *options, *source]
    question = urlencode({"file": name})
    job = bench.jobs.start(
        arguments, f"Draft of {spec}", f"{bench.place}/table?{question}", spec=spec
    )
    return f"{bench.place}/jobs/{job.id}"


def target_of(bench: Bench, job: Job) -> str:
    """Return the address to which a command leads: a new draft's columns, or its own page."""
    if job.kind == "init" and job.document.get("spec"):
        return bench.address("columns", str(job.document["spec"]))
    return job.target


async def receive(bench: Bench, name: str, pieces: AsyncIterator[bytes]) -> str:
    """Write a dropped file into the work directory, and nowhere else.

    Raises:
        InputError: where its name is no file's name, it is too large, or exists already.
    """
    if Path(name).name != name or not name.lower().endswith((*TABLE_ENDINGS, *PROJECT_ENDINGS)):
        raise InputError(f"{name}: is not a table. Drop a file such as people.csv")
    place, size = _drop_place(bench) / name, 0
    _make_file(place)
    with place.open("wb") as file:
        try:
            async for piece in pieces:
                size += len(piece)
                if size > _LARGEST:
                    raise InputError(f"{name}: is too large to be dropped. Copy it into the folder")
                file.write(piece)
        except BaseException:
            place.unlink(missing_ok=True)
            raise
    return f"{bench.place}/"


def place_dropped(bench: Bench, sent: Sent) -> str:
    """Move a dropped file into the folder, under the name that the steward gives it.

    Raises:
        InputError: where there is no such file, or the name is outside the folder or in use.
    """
    name, target = sent.get("name"), sent.get("target").strip()
    source = _drop_place(bench) / Path(name).name
    place = (bench.desk.folder / target).resolve()
    if not source.is_file():
        raise InputError(f"{name}: was not dropped here. Drop it again")
    if sent.get("remove"):
        source.unlink()
        return f"{bench.place}/"
    if not target or not place.is_relative_to(bench.desk.folder) or not place.parent.is_dir():
        raise InputError(f"{target}: is not in the folder. Write a name such as people.csv")
    _make_file(place)
    copy_atomically(source, place, mode=0o600)
    source.unlink()
    return f"{bench.place}/table?{urlencode({'file': place.relative_to(bench.desk.folder)})}"


def _make_file(place: Path) -> None:
    """Make an empty private file.

    Raises:
        InputError: where there is something already, be it a link.
    """
    try:
        place.touch(mode=0o600, exist_ok=False)
    except FileExistsError:
        raise InputError(
            f"{place.name}: exists already, and is not overwritten. Choose another name"
        ) from None


def _drop_place(bench: Bench) -> Path:
    return private_directory(bench.desk.private / _DROPPED)


def _relative(bench: Bench, name: str) -> str:
    return bench.desk.path(name).relative_to(bench.desk.folder).as_posix()


def _is_text(name: str) -> bool:
    try:
        return format_of(name) == "csv"
    except SfumatoError:
        return False


def _settings(sent: Sent) -> dict[str, Any]:
    """Return the settings of a table's reading as the options of a draft take them."""
    values = {key: sent.get(key).strip() for key in _READING if sent.get(key).strip()}
    if values.get("delimiter") == _TAB:
        values["delimiter"] = "\t"
    settings: dict[str, Any] = {**values}
    if "skip" in values:
        settings["skip"] = sent.number("skip")
    if "columns" in values:
        settings["columns"] = tuple(part.strip() for part in values["columns"].split(","))
    return settings


def _options(sent: Sent) -> Iterator[tuple[str, str]]:
    for key in (*_READING, *_ANSWERS):
        value = sent.get(key).strip()
        if value:
            yield key, "\t" if value == _TAB and key == "delimiter" else value


def _first_rows(path: Path, name: str, options: DraftOptions) -> Mapping[str, Any]:
    dialect, notes = sniff_dialect(path, name, options)
    text = content_of(path, name)[: 4 * _LOOKED_AT].decode(dialect.encoding, "replace")
    records = list(islice(_records(text[:_LOOKED_AT], dialect), _PREVIEWED + 1))
    header: Sequence[str] = dialect.header or (records[0] if records else ())
    rows = records if dialect.header else records[1:]
    described = {
        "encoding": dialect.encoding,
        "delimiter": {"\t": _TAB}.get(dialect.delimiter, dialect.delimiter),
        "names of the columns": "made here" if dialect.header else "from the first line",
        "lines above the header": str(dialect.skip),
        "missing values": ", ".join(word or "(empty)" for word in dialect.null_values),
    }
    return {"header": header, "rows": rows[:_PREVIEWED], "notes": notes, "dialect": described}


def _records(text: str, dialect: CsvDialect) -> Iterator[list[str]]:
    lines = io.StringIO(text.removeprefix("\ufeff"), newline="")
    for _ in range(dialect.skip):
        lines.readline()
    return filter(None, csv.reader(lines, delimiter=dialect.delimiter))


def _free_name(bench: Bench, stem: str) -> str:
    """Return a name for a spec that no file of the folder has."""
    names = (f"{stem}.yaml", *(f"{stem}-{number}.yaml" for number in range(2, 100)))
    return next((name for name in names if not (bench.desk.folder / name).exists()), names[0])
