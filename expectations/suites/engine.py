"""Great Expectations, imported once and kept quiet, and the base of all our expectations.

What holds is decided by the models and rules; the classes here carry them in and out.
"""

import inspect
import json
import os
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

import pandas as pd

from sfumato.expectations.machine.fault import reason_of, require_machine
from sfumato.expectations.machine.imports import Spared, import_spared, is_command
from sfumato.expectations.rules.owned import OwnedRule
from sfumato.expectations.rules.structure import OrderedColumns
from sfumato.expectations.shared.errors import Fault, PromiseError, SfumatoError

os.environ["GX_ANALYTICS_ENABLED"] = "false"  # read when it is imported
_FLUENT = "great_expectations.datasource.fluent"
_SOURCES = re.escape(_FLUENT)
_EXPECTATIONS = r"great_expectations\.expectations\.core"
_USED = "|".join([*OwnedRule.model_fields, OrderedColumns.type])


def _no_models(*_: Any, **__: Any) -> dict[str, Any]:
    return {}


# What only expectations and sources import that we do not use takes half the time of its import.
_SPARED = Spared(
    later={"altair", "jsonschema", "mistune", "requests", "scipy.stats"},
    absent={"boto3", "botocore", "sqlalchemy"},
    hollow=re.compile(
        rf"{_SOURCES}\.(?!(pandas|invalid)_datasource$)\w+_datasource|{_SOURCES}\.fabric"
        rf"|{_SOURCES}\.data_asset\.path\.(pandas\.generated_assets|spark\.spark_asset)"
        rf"|{_EXPECTATIONS}\.(?!({_USED})$)expect_\w+"
        r"|great_expectations\.(core\.http|data_context\.store\.gx_cloud_store_backend"
        r"|experimental\.metric_repository\.cloud_data_store)"
    ),
    # a class for each of pandas' readers, of which we use none
    replaced={f"{_FLUENT}.dynamic_pandas": {"_generate_pandas_data_asset_models": _no_models}},
)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    if is_command():  # else somebody else may use the rest
        import_spared("great_expectations", _SPARED)
    import great_expectations as gx
    from great_expectations.compatibility import pydantic
    from great_expectations.data_context.types.base import (
        DataContextConfig,
        FilesystemStoreBackendDefaults,
        InMemoryStoreBackendDefaults,
        ProgressBarsConfig,
    )
    from great_expectations.execution_engine.pandas_execution_engine import PandasExecutionEngine
    from great_expectations.execution_engine.sqlalchemy_execution_engine import (
        SqlAlchemyExecutionEngine,
    )
    from great_expectations.expectations.expectation import BatchExpectation
    from great_expectations.expectations.metrics.metric_provider import metric_value
    from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider
    from great_expectations.expectations.registry import get_expectation_impl
    from great_expectations.render.components import (
        LegacyDiagnosticRendererType,
        LegacyRendererType,
        RenderedStringTemplateContent,
    )
    from great_expectations.render.renderer.renderer import renderer
    from great_expectations.render.view.view import (
        DefaultJinjaIndexPageView,
        DefaultJinjaPageView,
    )
    from great_expectations.validator.metric_configuration import MetricConfiguration

__all__ = [
    "Carried",
    "DataContextConfig",
    "DefaultJinjaIndexPageView",
    "DefaultJinjaPageView",
    "Described",
    "FilesystemStoreBackendDefaults",
    "InMemoryStoreBackendDefaults",
    "MetricConfiguration",
    "PandasExecutionEngine",
    "ProgressBarsConfig",
    "SqlAlchemyExecutionEngine",
    "TableMetricProvider",
    "discreet",
    "frame_of",
    "get_expectation_impl",
    "gx",
    "metric_value",
    "pydantic",
]

_LAST = ("groups", "failing")
_Content = TypeVar("_Content")


@contextmanager
def discreet(doing: str) -> Iterator[None]:
    """Let out only our own messages: others may quote values."""
    try:
        yield
    except SfumatoError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it was, it was not evaluated
        require_machine(error, doing)
        if isinstance(error, OSError):
            raise Fault(f"{doing}: {reason_of(error)}") from None
        raise PromiseError(f"{doing} could not be evaluated ({type(error).__name__})") from None


@dataclass(frozen=True, eq=False)
class Carried(Generic[_Content]):
    """Content of a frame that is handed on, not copied, where pandas copies attributes."""

    content: _Content

    def __deepcopy__(self, _: Any) -> Self:
        return self


def frame_of(execution_engine: Any, domain: Any) -> pd.DataFrame:
    """Return the frame that is being validated."""
    df: pd.DataFrame = execution_engine.get_compute_domain(domain, domain_type="table")[0]
    return df


class Described(BatchExpectation):
    """An expectation that says in words what it asks for, and what was seen."""

    @classmethod
    def sentence(cls, parameters: Mapping[str, Any]) -> str:
        """Return what is asked for, in words."""
        return f"{inspect.getdoc(cls)} {json.dumps(parameters) if parameters else ''}"

    @classmethod
    @renderer(renderer_type=LegacyRendererType.PRESCRIPTIVE)
    def _prescriptive_renderer(
        cls, configuration: Any = None, result: Any = None, *_: Any, **__: Any
    ) -> list[Any]:
        kwargs = (configuration or result.expectation_config).kwargs
        sentence = cls.sentence({k: v for k, v in kwargs.items() if k in cls.success_keys})
        template = {"template": "$sentence", "params": {"sentence": sentence}}
        kind = "string_template"
        return [RenderedStringTemplateContent(content_block_type=kind, string_template=template)]

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.OBSERVED_VALUE)
    def _diagnostic_observed_value_renderer(
        cls,
        configuration: Any = None,  # noqa: ARG003 - the name is Great Expectations'
        result: Any = None,
        *_: Any,
        **__: Any,
    ) -> str:
        seen = ((result and result.result) or {}).get("observed_value")
        if isinstance(seen, dict):
            names = sorted(seen, key=lambda name: name in _LAST)  # those of stored JSON are sorted
            return ", ".join(f"{name} = {seen[name]}" for name in names)
        return "--" if seen is None else str(seen)
