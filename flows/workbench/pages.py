"""Pages of the workbench: one look, their steps in order, and the files that they need."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from shlex import quote
from typing import Any

from jinja2 import ChoiceLoader, Environment, FileSystemLoader

from sfumato.flows.workbench.desk import OpenedSpec
from sfumato.flows.workbench.visit import Bench, Visit
from sfumato.tasks.report.numbers import half_width, percent
from sfumato.tasks.report.rendering import environment_of, stylesheet, template_loader
from sfumato.tasks.schema.files import read_bytes

_HERE = Path(__file__).parent
_TEMPLATES = _HERE / "templates"
_STATIC: Mapping[str, tuple[Path, str]] = {
    "workbench.js": (_HERE / "static" / "workbench.js", "text/javascript"),
    "htmx.js": (_HERE / "static" / "vendor" / "htmx.min.js", "text/javascript"),
}
STYLE = "style.css"
_STEP_OF: Mapping[str, str] = {
    **dict.fromkeys(("columns", "unit", "nulls", "source"), "columns"),
    **dict.fromkeys(("promises", "policy"), "promise"),
    **dict.fromkeys(("partition", "groups", "form", "strata"), "partition"),
    **dict.fromkeys(("versions", "people"), "lines"),
    "evaluate": "questions",
    "tables": "columns",
}
"""The step in which a key of a spec is decided; others are in the step Release, as text."""
Show = Callable[[Visit], Mapping[str, Any]]
Act = Callable[[Visit], str | None]


@dataclass(frozen=True)
class WorkStep:
    """A step of the work, which has a page of its own.

    Attributes:
        name: its name in addresses, and of its template.
        title: its title.
        show: returns what its template shows.
        actions: what its forms do, by the name of the action; each returns the address to go to,
            or None for the page itself.
        of_two: returns what the page shows of a spec of two tables; None if it is `show`.
    """

    name: str
    title: str
    show: Show
    actions: Mapping[str, Act]
    of_two: Show | None = None


@cache
def templates() -> Environment:
    """Return the templates of the workbench, and those of other private pages."""
    ours = FileSystemLoader(_TEMPLATES, encoding="utf-8")
    environment = environment_of(ChoiceLoader([ours, template_loader()]))
    environment.filters |= {"percent": percent, "half_width": half_width, "quoted": quote}
    return environment


def static_file(name: str) -> tuple[bytes, str] | None:
    """Return the content and type of a file that pages need, or None."""
    if name == STYLE:
        css = f"{stylesheet('steward.css').css}\n".encode()
        return css + read_bytes(_HERE / "static" / STYLE), "text/css"
    if name not in _STATIC:
        return None
    path, kind = _STATIC[name]
    return read_bytes(path), kind


def render(template: str, bench: Bench, **view: Any) -> str:
    """Return a page without a spec."""
    common = {"place": bench.place, "steps": (), "spec": None, "step": "", "problem": ""}
    page = templates().get_template(f"{template}.html.j2")
    return page.render(**{**common, **view})


def render_step(
    step: WorkStep, steps: tuple[WorkStep, ...], visit: Visit, *, problem: str = "", **view: Any
) -> str:
    """Return the page of a step.

    Args:
        step: the step.
        steps: all steps in order.
        visit: the visit.
        problem: why the change that was sent was not made, in words.
        view: what the template shows in addition.
    """
    bench, spec = visit.bench, visit.spec
    places = places_of(bench, steps, spec.name)
    number = steps.index(step)
    return render(
        str(view.get("page_template", step.name)),
        bench,
        steps=places,
        step=step.name,
        title=step.title,
        spec=spec,
        here=visit.here,
        problem=problem,
        undoes=bench.desk.latest_change(spec.name),
        undo=f"{bench.place}/undo/{visit.here.removeprefix(bench.place + '/')}",
        before=places[number - 1] if number else None,
        after=places[number + 1] if number + 1 < len(places) else None,
        **{**_standing(spec), **view},
    )


def places_of(bench: Bench, steps: tuple[WorkStep, ...], spec: str) -> list[dict[str, str]]:
    """Return the title, address and name of each step of a spec."""
    return [
        {"title": step.title, "address": bench.address(step.name, spec), "name": step.name}
        for step in steps
    ]


def _standing(spec: OpenedSpec) -> dict[str, Any]:
    """Return what is to be decided of a spec before it can be released."""
    fault = spec.fault()
    key = re.split(r"[.:]", fault or "")[0]
    return {"fault": fault, "place_of_fault": _STEP_OF.get(key), "confirmed": spec.is_confirmed}
