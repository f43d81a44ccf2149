"""The beginning of the work: the tables of the folder, dropped files, and the draft of a spec."""

from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

from sfumato.expectations.shared.errors import InputError, SfumatoError, SpecError
from sfumato.flows.workbench.desk import PROJECT_ENDINGS, TABLE_ENDINGS, hierarchy_files
from sfumato.flows.workbench.jobs import Job
from sfumato.flows.workbench.reading import address_of, options_of, without_header
from sfumato.flows.workbench.visit import Bench, Sent
from sfumato.tasks.private.durable import copy_atomically
from sfumato.tasks.private.workdir import private_directory

_DROPPED = "dropped"
_PART = ".part"  # of a file that is not complete, or was not when the workbench was killed
_LARGEST = 1 << 34  # bytes of a dropped file


def home(bench: Bench) -> dict[str, Any]:
    """Return what the first page shows: specs and tables of the folder."""
    specs = bench.desk.specs()
    hierarchies = {file for name in specs for file in _hierarchies_of(bench, name)}
    tables = bench.desk.files(TABLE_ENDINGS)
    return {
        "folder": str(bench.desk.folder),
        "specs": specs,
        "tables": [name for name in tables if bench.desk.folder / name not in hierarchies],
        "projects": bench.desk.files(PROJECT_ENDINGS),
        "dropped": dropped_files(bench),
    }


def _hierarchies_of(bench: Bench, name: str) -> Iterable[Path]:
    """Return the hierarchy files of a spec, which are no tables to release."""
    try:
        spec = bench.desk.open(name)
    except SfumatoError:
        return ()
    return hierarchy_files(spec.document, spec.path).values()


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
    if sent.get("rows"):
        return _draft_two(bench, sent, spec)
    if project:
        source = [f"--from={_relative(bench, project)}"]
        source += [f"--data={_relative(bench, name)}"] if name else []
    else:
        source = ["--", _relative(bench, name)]
    reading = bench.readings[name] = without_header(sent)
    options = list(options_of(reading))
    arguments = ["init", f"--out={spec}", "--json", *options, *source]
    target = address_of(bench, name) if name else f"{bench.place}/"
    job = bench.jobs.start(arguments, f"Draft of {spec}", target, spec=spec)
    return f"{bench.place}/jobs/{job.id}"


def _draft_two(bench: Bench, sent: Sent, spec: str) -> str:
    """Start the draft of a spec of two tables; return the address of its progress."""
    files = [_relative(bench, sent.get(field)) for field in ("file", "rows")]
    key = sent.get("key").strip()
    options = [f"--key={key}"] if key else []
    arguments = ["init", f"--out={spec}", "--json", *options, "--", *files]
    job = bench.jobs.start(arguments, f"Draft of {spec}", f"{bench.place}/", spec=spec)
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
    place, part, size = _drop_place(bench) / name, _drop_place(bench) / f"{name}{_PART}", 0
    _make_file(part)
    try:
        _make_file(place)
        place.unlink()  # until it is complete
        with part.open("wb") as file:
            async for piece in pieces:
                size += len(piece)
                if size > _LARGEST:
                    raise InputError(f"{name}: is too large to be dropped. Copy it into the folder")
                file.write(piece)
        part.rename(place)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return f"{bench.place}/"


def dropped_files(bench: Bench) -> list[str]:
    """Return the names of the files that were dropped, and have no place in the folder yet."""
    return sorted(path.name for path in _drop_place(bench).iterdir())


def place_dropped(bench: Bench, sent: Sent) -> str:
    """Move a dropped file into the folder, or delete it; return the address to go to."""
    if sent.get("remove"):
        delete_dropped(bench, sent)
        return f"{bench.place}/"
    return address_of(bench, put_into_folder(bench, sent))


def delete_dropped(bench: Bench, sent: Sent) -> None:
    """Delete a dropped file.

    Raises:
        InputError: where there is no such file.
    """
    _dropped_file(bench, sent).unlink()


def put_into_folder(bench: Bench, sent: Sent) -> str:
    """Move a dropped file into the folder, under the name that the steward gives it; return it.

    Raises:
        InputError: where there is no such file, or the name is outside the folder or in use.
    """
    source, target = _dropped_file(bench, sent), sent.get("target").strip()
    if source.suffix == _PART:
        raise InputError(f"{source.stem}: was not copied completely. Delete it, and drop it again")
    try:
        place = (bench.desk.folder / target).resolve()
        if not target or not place.is_relative_to(bench.desk.folder) or not place.parent.is_dir():
            raise InputError(f"{target}: is not in the folder. Write a name such as people.csv")
        _make_file(place)
    except (OSError, ValueError):
        raise InputError(f"{target}: cannot be the name of a file. Write another one") from None
    copy_atomically(source, place, mode=0o600)
    source.unlink()
    return place.relative_to(bench.desk.folder).as_posix()


def _dropped_file(bench: Bench, sent: Sent) -> Path:
    name = sent.get("name")
    if name not in dropped_files(bench):
        raise InputError(f"{name}: was not dropped here. Drop it again")
    return _drop_place(bench) / name


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
