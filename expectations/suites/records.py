"""Great Expectations' own records of our gate: suites, checkpoints, results and Data Docs.

They are kept in a private directory if one is given, and otherwise in memory. They are never read
again: a suite that Great Expectations reads loses what Great Expectations does not know.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.expectations.machine.imports import compiled_templates
from sfumato.expectations.suites.engine import (
    DataContextConfig,
    DefaultJinjaIndexPageView,
    DefaultJinjaPageView,
    FilesystemStoreBackendDefaults,
    InMemoryStoreBackendDefaults,
    ProgressBarsConfig,
    discreet,
    gx,
)

_STORE = "store"
_DOCS = "data-docs"


class PageView(DefaultJinjaPageView):
    """Great Expectations' page of a suite or of results, whose templates are compiled once."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.env.bytecode_cache = compiled_templates()


class IndexPageView(DefaultJinjaIndexPageView):
    """Great Expectations' index of pages, whose templates are compiled once."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.env.bytecode_cache = compiled_templates()


def open_context(documents: Path | None) -> Any:
    """Return a new project of the gate, with records in a private directory or in memory.

    Its records of an earlier run in the same directory are removed.
    """
    with discreet("Great Expectations"):
        if documents is None:
            config = DataContextConfig(store_backend_defaults=InMemoryStoreBackendDefaults())
        else:
            config = _private_config(documents)
        context: Any = gx.get_context(mode="ephemeral", project_config=config)
        context.variables.progress_bars = ProgressBarsConfig(globally=False)
        context.variables.save = _keep_nothing
    return context


def _keep_nothing() -> None:
    """Replace the function that writes a project's settings as YAML after every step."""


def add_checkpoint(context: Any, data: Any, suite: Any, result_format: Mapping[str, Any]) -> Any:
    """Return the checkpoint that validates some data by a suite and has its name."""
    name = suite.name
    validation = context.validation_definitions.add(
        gx.ValidationDefinition(name=name, data=data, suite=context.suites.add(suite))
    )
    checkpoint = gx.Checkpoint(
        name=name, validation_definitions=[validation], result_format=dict(result_format)
    )
    return context.checkpoints.add(checkpoint)


def close_to_others(documents: Path) -> None:
    """Make all written files private, whatever directory they are moved to."""
    documents.chmod(0o700)
    for path in documents.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o700 if path.is_dir() else 0o600)


def _private_config(documents: Path) -> Any:
    documents.mkdir(mode=0o700, parents=True, exist_ok=True)
    shutil.rmtree(documents / _STORE, ignore_errors=True)
    place = documents.resolve()
    stores = FilesystemStoreBackendDefaults(root_directory=place / _STORE)
    site = {
        "class_name": "SiteBuilder",
        "show_how_to_buttons": False,
        "store_backend": {
            "class_name": "TupleFilesystemStoreBackend",
            "base_directory": str(place / _DOCS),
        },
        "site_index_builder": {
            "class_name": "DefaultSiteIndexBuilder",
            "view": {"module_name": __name__, "class_name": IndexPageView.__name__},
        },
        "site_section_builders": {
            section: {"view": {"module_name": __name__, "class_name": PageView.__name__}}
            for section in ("expectations", "validations")
        }
        | {"profiling": "none"},
    }
    return DataContextConfig(store_backend_defaults=stores, data_docs_sites={"private": site})
