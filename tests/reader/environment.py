"""An environment with what `pip install sfumato` installs and nothing else, out of our own.

Each distribution is linked from the environment that runs this, so no package is fetched; which
are needed is read from their metadata, as pip does. `python -m tests.reader.environment FOLDER`
makes one that also has what tests of the reader need.
"""

import sys
import sysconfig
import venv
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
TESTS = ("sfumato[mariadb,postgres]", "hypothesis", "pytest", "pytest-timeout", "pytest-xdist")
"""What runs the suites of queries: two of them load servers."""

_COMMAND = """#!{python}
from sfumato.flows.cli.main import main

main()
"""


def closure_of(*requirements: str) -> dict[str, Distribution]:
    """Return the distributions that some requirements install, by their canonical names."""
    closure: dict[str, Distribution] = {}
    waiting = [Requirement(requirement) for requirement in requirements]
    seen = set()
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        for extra in ("", *requirement.extras):
            if (name, extra) not in seen:
                seen.add((name, extra))
                closure[name] = _distribution(name)
                waiting += _requirements(closure[name], extra)
    return closure


def _distribution(name: str) -> Distribution:
    """Return a distribution of the environment that runs this, wherever it is run."""
    for installed in Distribution.discover(name=name, path=[sysconfig.get_path("purelib")]):
        return installed
    raise PackageNotFoundError(name)


def _requirements(installed: Distribution, extra: str) -> Iterator[Requirement]:
    """Yield what a distribution requires for an extra, or for no extra at all."""
    for line in installed.requires or ():
        requirement = Requirement(line)
        here, alone = (
            requirement.marker is None or requirement.marker.evaluate({"extra": chosen})
            for chosen in (extra, "")
        )
        if here and (alone if extra == "" else not alone):
            yield requirement


def make(folder: Path, *requirements: str) -> Path:
    """Make an environment that has the distributions of some requirements.

    Returns:
        Its interpreter.
    """
    venv.create(folder, clear=True, with_pip=False, symlinks=True)
    place = Path(sysconfig.get_path("purelib", "venv", {"base": folder, "installed_base": folder}))
    for installed in closure_of(*requirements).values():
        _link(installed, place)
    (place / "sfumato.pth").write_text(f"{ROOT}\n", encoding="utf-8")
    python = folder / "bin" / "python"
    command = folder / "bin" / "sfumato"
    command.write_text(_COMMAND.format(python=python.absolute()), encoding="utf-8")
    command.chmod(0o755)
    return python


def _link(installed: Distribution, place: Path) -> None:
    """Link all that a distribution has directly below `site-packages`."""
    tops = {file.parts[0] for file in installed.files or () if file.parts[0] not in ("..", "/")}
    for top in tops - {"__pycache__"}:
        source = Path(str(installed.locate_file(top)))
        if not top.endswith(".pth") and not top.startswith("__editable__") and source.exists():
            (place / top).symlink_to(source)


def installed_bytes(*requirements: str) -> int:
    """Return the bytes of all files that some requirements install."""
    files = (
        file for installed in closure_of(*requirements).values() for file in installed.files or ()
    )
    places = {Path(str(file.locate())).resolve() for file in files if file.suffix != ".pyc"}
    return sum(place.stat().st_size for place in places if place.is_file())


if __name__ == "__main__":
    made = make(Path(sys.argv[1]), "sfumato", *TESTS)
    sys.stdout.write(f"{made}\n")
