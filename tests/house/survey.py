"""The product as rooms (folders of modules) and arrows (imports), read from its source."""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import grimp

ROOT = Path(__file__).parents[2]
PACKAGES = ("flows", "tasks", "expectations")
Arrows = Mapping[str, frozenset[str]]


def sources() -> list[Path]:
    """Every module of the product, without the heads of packages."""
    paths = (path for name in PACKAGES for path in (ROOT / name).rglob("*.py"))
    return sorted(path for path in paths if path.name != "__init__.py")


def modules_of_tests() -> list[Path]:
    """Return every module of the tests, helpers too."""
    return sorted((ROOT / "tests").rglob("*.py"))


def files_by_room() -> dict[str, int]:
    """Count the modules of each room."""
    return dict(Counter(str(path.parent.relative_to(ROOT)) for path in sources()))


@cache
def graph(with_types: bool = False) -> grimp.ImportGraph:
    """The import graph, with arrows from registries to their entries.

    Imports for type checkers alone are in it where they are asked for.
    """
    skip = not with_types
    imports = grimp.build_graph("sfumato", exclude_type_checking_imports=skip, cache_dir=None)
    for registry, module in {(entry.registry, entry.module) for entry in entries()}:
        if registry != module:
            imports.add_import(importer=registry, imported=module)
    return imports


class Entry(NamedTuple):
    """An entry of a registry that imports it when it is named.

    Attributes:
        registry: the registry's module.
        name: of the entry.
        module: where it is.
        attribute: what it is called there; empty where the module is the entry.
    """

    registry: str
    name: str
    module: str
    attribute: str


def entries() -> list[Entry]:
    """Every entry of an `Entries`, read from the source of its registry."""
    entries_found = []
    for path in sources():
        text = path.read_text(encoding="utf-8")
        if "Entries(" not in text:
            continue
        registry = "sfumato." + ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Entries":
                package, places = map(ast.literal_eval, node.args)
                for name, place in places.items():
                    module, _, attribute = place.partition(":")
                    entries_found.append(Entry(registry, name, f"{package}.{module}", attribute))
    return entries_found


def arrows(with_types: bool = False) -> Arrows:
    """Return the modules that each module imports."""
    imports = graph(with_types)
    return {
        module: frozenset(imports.find_modules_directly_imported_by(module))
        for module in imports.modules
    }


def room(module: str) -> str:
    """The room of a module: its own folder, which a package's head stands in, too."""
    path = ROOT.joinpath(*module.split(".")[1:])
    return str((path if path.is_dir() else path.parent).relative_to(ROOT))


def arrows_between_rooms(registered: bool = True) -> Arrows:
    """Return the other rooms that the modules of each room import, with or without entries."""
    skipped = set() if registered else {(entry.registry, entry.module) for entry in entries()}
    rooms: dict[str, set[str]] = defaultdict(set)
    for module, imported in arrows().items():
        others = {room(other) for other in imported if (module, other) not in skipped}
        rooms[room(module)] |= others - {room(module)}
    return {name: frozenset(others) for name, others in rooms.items()}


def circles_of_rooms() -> list[list[str]]:
    """Return circles between rooms, a folder and its subfolders included.

    A registry's arrows to its entries do not count: it imports them when they are named.
    """
    return circles(arrows_between_rooms(registered=False))


def arrows_back() -> list[tuple[str, str]]:
    """Arrows between the top-level packages that the order of the layers does not have."""
    places = {name: position for position, name in enumerate(PACKAGES)}
    pairs = (
        (room_name, other)
        for room_name, others in arrows_between_rooms().items()
        for other in others
    )
    return sorted(
        (room_name, other)
        for room_name, other in pairs
        if places[room_name.partition("/")[0]] > places[other.partition("/")[0]]
    )


def circles(arrows_of_nodes: Arrows) -> list[list[str]]:
    """The largest sets of more than one node that all reach one another."""
    reached = {node: _nodes_reached(arrows_of_nodes, node) for node in arrows_of_nodes}
    sets = {
        frozenset(other for other in reached[node] if node in reached.get(other, ()))
        for node in arrows_of_nodes
    }
    return sorted(sorted(members) for members in sets if len(members) > 1)


def _nodes_reached(arrows_of_nodes: Arrows, start: str) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for node in arrows_of_nodes.get(waiting.pop(), ()):
            if node not in seen:
                seen.add(node)
                waiting.append(node)
    return seen


def definitions(*kinds: type[ast.stmt]) -> Iterator[tuple[Path, str]]:
    """The modules and names of the statements of some kinds at the top of modules."""
    for path in sources():
        for statement in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(statement, kinds):
                yield path.relative_to(ROOT), statement.name
