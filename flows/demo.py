"""What the demonstration releases, wherever it finds it: UCI Adult, or rows that look like it."""

import hashlib
import shutil
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from sfumato.tasks.microdata.synthetic.adult_like import write_census_like
from sfumato.tasks.private.durable import write_atomically

SPEC = Path(__file__).parent.parent / "deployments" / "releases" / "adult-capital-loss.yaml"
_SHA256 = "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"
_ADDRESS = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/adult.data"
_SECONDS = 10


@dataclass(frozen=True)
class Found:
    """What to release, said in words, as a spec and as settings of the run."""

    described: str
    spec: Path
    settings: tuple[str, ...]


def find_source(environ: Mapping[str, str], here: Path, rows: int) -> Found:
    """Adult from `$SFUMATO_DATA`, beside the project, the cache or the network; else generated."""
    cached = _cache(environ) / "adult.data"
    places = [here.parent / "shared" / "data" / "adult" / "adult.data", cached]
    if data := environ.get("SFUMATO_DATA"):
        places.insert(0, Path(data) / "adult" / "adult.data")
    for place in places:
        if place.is_file() and _is_adult(place.read_bytes()):
            return _adult(place)
    if _downloaded(cached):
        return _adult(cached)
    return _generated(_cache(environ) / f"census-like-{rows}", rows)


def questions() -> tuple[str, ...]:
    """Two questions to ask the release."""
    return (
        'SELECT COUNT(*), AVG("capital-loss") FROM microdata WHERE age BETWEEN 30 AND 40',
        'SELECT sex, AVG("capital-loss"), MAX("capital-loss") FROM microdata GROUP BY sex',
    )


def _adult(place: Path) -> Found:
    return Found(f"data: UCI Adult, {place}", SPEC, (f"source.uri={place.absolute()}",))


def _generated(directory: Path, rows: int) -> Found:
    """Rows about nobody, and a spec whose name and title say so."""
    data = directory / "census-like.data"
    if not data.exists():
        shutil.copytree(SPEC.parent, directory, dirs_exist_ok=True)
        write_census_like(data, rows, seed=1994)
    spec = yaml.safe_load(SPEC.read_text(encoding="utf-8"))
    spec |= {"name": "census-like", "title": f"NOT REAL DATA: {rows:,} generated census-like rows"}
    place = directory / "census-like.yaml"
    place.write_text(yaml.safe_dump(spec, sort_keys=False), encoding="utf-8")
    return Found(
        "NOT REAL DATA: UCI Adult was not found and could not be downloaded; "
        f"{rows:,} census-like rows were generated in {data}",
        place,
        (f"source.uri={data.absolute()}", "source.sha256=null"),
    )


def _cache(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sfumato"


def _is_adult(content: bytes) -> bool:
    return hashlib.sha256(content).hexdigest() == _SHA256


def _downloaded(place: Path) -> bool:
    try:
        with urllib.request.urlopen(_ADDRESS, timeout=_SECONDS) as response:
            content = response.read()
    except (urllib.error.URLError, OSError):
        return False
    if not _is_adult(content):
        return False
    place.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(place, content)
    return True
