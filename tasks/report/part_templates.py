"""The templates with the words of forms and partitions: in `templates`, or beside the part."""

import inspect
from collections.abc import Mapping
from pathlib import Path

from jinja2 import BaseLoader, ChoiceLoader, FileSystemLoader, FunctionLoader

from sfumato.tasks.forms.parameters import FORM_PARAMETERS
from sfumato.tasks.partitions.parameters import PARTITION_PARAMETERS
from sfumato.tasks.schema.files import read_text

_TEMPLATES = Path(__file__).with_name("templates")
_ENDING = ".html.j2"
_PARTS: Mapping[str, Mapping[str, type]] = {
    "forms": FORM_PARAMETERS,
    "partitions": PARTITION_PARAMETERS,
}


def template_loader() -> BaseLoader:
    """Load templates by name; `forms/<method>` and `partitions/<method>` also from beside them."""
    ours = FileSystemLoader(_TEMPLATES, encoding="utf-8")
    return ChoiceLoader([ours, FunctionLoader(_beside_the_part)])


def _beside_the_part(name: str) -> str | None:
    """The template `<method>.html.j2` beside the parameters of the part, where there is one."""
    room, _, file = name.partition("/")
    kind = _PARTS.get(room, {}).get(file.removesuffix(_ENDING))
    if kind is None:
        return None
    path = Path(inspect.getfile(kind)).with_name(file)
    return read_text(path) if path.is_file() else None
