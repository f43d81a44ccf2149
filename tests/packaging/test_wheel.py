"""One import package, complete, wherever it is installed and whatever stands beside it."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.corpus.archives import unpack_archives
from tests.guide.page import transcripts
from tests.release.small import Small, people

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PACKAGES = ("expectations", "flows", "tasks")
FOLDERS = (*PACKAGES, "deployments")
pytestmark = pytest.mark.packaging


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of a copy of the tracked files, so that the tree itself gets no `build/`."""
    return wheel_of(copy_tree(tmp_path_factory.mktemp("wheel")))


def copy_tree(folder):
    """Copy what a wheel is built from, links as links."""
    folder.mkdir(exist_ok=True)
    without_caches = shutil.ignore_patterns("__pycache__")
    for name in (*FOLDERS, "sfumato"):
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=without_caches)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    return folder


def wheel_of(source):
    """Build the wheel of a tree or of an sdist."""
    folder = source.parent / f"wheel-of-{source.name}"
    command = [*(sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check")]
    options = ["--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
    subprocess.run([*command, *options, str(source)], check=True, timeout=240)
    (made,) = folder.glob("*.whl")
    return made


def files_of(wheel):
    """The names and bytes of what a wheel installs below `sfumato`."""
    archive = ZipFile(wheel)
    return {n: archive.read(n) for n in archive.namelist() if ".dist-info/" not in n}


@pytest.fixture(scope="module")
def site(wheel, tmp_path_factory):
    """Return the place where the wheel alone is installed, beside our dependencies."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    place = Path(sysconfig.get_path("purelib", "venv", {"base": folder, "installed_base": folder}))
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run(
        [*command, "--no-deps", "--no-compile", "--target", str(place), str(wheel)],
        check=True,
        timeout=240,
    )
    dependencies = [path for path in sys.path if Path(path).name == "site-packages"]
    (place / "dependencies.pth").write_text("\n".join(dependencies) + "\n")
    return place


@pytest.fixture(scope="module")
def other_project(tmp_path_factory):
    """A project whose own modules are called as ours are at the top of the repository."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "flows.py").write_text("raise RuntimeError('of another project')\n")
    for name in ("tasks", "expectations"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text("raise RuntimeError('of another project')\n")
    return folder


@pytest.fixture(scope="module")
def run(site, other_project):
    """Run a program of the environment in that project, which is first on its path."""
    environment = site.parents[2]
    variables = {k: v for k, v in os.environ.items() if not k.startswith(("PREFECT_", "SFUMATO_"))}
    home = other_project / "home"
    home.mkdir()
    plain = {**variables, "HOME": str(home), "PYTHONPATH": ".", "SFUMATO_WORK": str(home / "work")}
    options = {"cwd": other_project, "capture_output": True, "text": True, "timeout": 240}

    def finish(*command, **environ):
        python = [str(environment / "bin" / "python"), "-W", "ignore"]
        return subprocess.run([*python, *command], env={**plain, **environ}, **options)

    return finish


@pytest.fixture(scope="module")
def command(run):
    """Run `sfumato`; its stdout."""

    def finish(*arguments, **environ):
        program = "from sfumato.flows.cli.main import main; main()"
        done = run("-c", program, *arguments, **environ)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return finish


def test_the_package_links_to_the_folders_beside_it():
    inside = (ROOT / "sfumato").iterdir()
    links = {path.name: path.readlink() for path in inside if path.is_symlink()}
    assert links == {name: Path("..") / name for name in FOLDERS}


def test_every_folder_of_modules_is_a_package():
    for name in PACKAGES:
        for path in (ROOT / name).rglob("*.py"):
            assert (path.parent / "__init__.py").exists(), path.parent


def test_the_wheel_has_one_import_package_and_everything_in_it(wheel):
    expected = {
        f"sfumato/{path.relative_to(ROOT)}"
        for name in FOLDERS
        for path in (ROOT / name).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert files_of(wheel).keys() == expected | {"sfumato/__init__.py", "sfumato/py.typed"}


def test_an_sdist_gives_the_same_wheel(wheel, tmp_path):
    """It has files in the place of links: it can be unpacked where there are none."""
    tree = copy_tree(tmp_path / "tree")
    program = "from setuptools.build_meta import build_sdist; print(build_sdist('..'))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tree, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    sdist = tmp_path / done.stdout.splitlines()[-1]
    with tarfile.open(sdist) as archive:
        assert not [member.name for member in archive if member.issym() or member.islnk()]
    assert files_of(wheel_of(sdist)) == files_of(wheel)


def test_nothing_else_is_installed(site):
    names = {path.name for path in site.iterdir() if not path.name.endswith(".dist-info")}
    assert names - {"bin", "dependencies.pth"} == {"sfumato"}


def test_modules_have_one_name_and_faults_a_place(run, site):
    done = run(str(ROOT / "tests" / "packaging" / "outside.py"))
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["places"] == [str(site / "sfumato" / name) for name in PACKAGES]
    assert document["old_names"] == []
    assert document["fault"].startswith("ingest: TypeError at tasks/microdata/notation/address.py:")


def test_the_python_face_answers(run):
    release = unpack_archives() / "format-2" / "public" / "corpus-permuted" / "0002"
    code = (
        "import sfumato; from pathlib import Path; assert Path(sfumato.__file__).parts[-2] == "
        f"'sfumato'; release = sfumato.open({str(release)!r}, check=True); "
        "found = release.query('SELECT COUNT(*) FROM microdata'); "
        "print(found.guaranteed, found.to_pandas()['COUNT(*)_lower'].tolist(), sfumato.__all__)"
    )
    done = run("-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("True [200] ['AccuracyListing', 'BoundedAnswer',")


@pytest.fixture(scope="module")
def demonstration(command):
    """The release of the demonstration."""
    return Path(command("demo").splitlines()[-1])


@pytest.mark.parametrize("transcript", transcripts(README)[1:], ids=str)
def test_commands_print_what_the_readme_shows(command, demonstration, transcript):
    _, *arguments = shlex.split(transcript.command)
    assert demonstration.name in transcript.command
    assert transcript.fits(command(*arguments))


def test_commands_run_beside_modules_of_the_old_names(
    command, other_project, prefect_api, demonstration
):
    published = demonstration
    assert published == other_project / "releases" / "adult-capital-loss" / "0001"
    assert "is kept in all" in command("check", str(published))
    question = 'SELECT COUNT(*), AVG("capital-loss") FROM microdata'
    answer = json.loads(command("query", str(published), question, "--format", "json"))
    assert answer["guaranteed"] is True
    small = Small(other_project / "line").write(people())
    again = command("release", str(small.spec), PREFECT_API_URL=prefect_api)
    assert "is kept in all" in command("check", again.splitlines()[-1])


@pytest.mark.parametrize("name", PACKAGES)
def test_the_old_names_say_the_new_one(name):
    done = subprocess.run(
        [sys.executable, "-c", f"import {name}"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"ImportError: this package is sfumato.{name}. Import it by that name, "
        "and deploy flows again"
    )
