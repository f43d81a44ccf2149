"""Promises and rules as Great Expectations suites, and the gate that lets nothing unjudged pass.

The only import of Great Expectations. What holds is decided by the models and rules; here they
are carried in and out, and whatever was not evaluated is refused.
"""

import inspect
import json
import logging
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from itertools import chain, groupby
from pathlib import Path
from typing import Any, ClassVar, get_args

import pandas as pd
import pyarrow as pa

from expectations.errors import PromiseError, SfumatoError
from expectations.frames import from_frame, to_frame
from expectations.groups import Groups
from expectations.judged import (
    GROUPS,
    Expected,
    Judged,
    Outcome,
    Promised,
    admitted,
    expected,
    observed,
    refuse_unexpected,
)
from expectations.k_anonymity import KAnonymity
from expectations.ke_anonymity import KEAnonymity
from expectations.model import PrivacyModel, Verdict
from expectations.promises import PROMISE, Promise
from expectations.structure import Rule

os.environ["GX_ANALYTICS_ENABLED"] = "false"  # read when it is imported
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import great_expectations as gx
    from great_expectations.data_context.types.base import (
        DataContextConfig,
        InMemoryStoreBackendDefaults,
        ProgressBarsConfig,
    )
    from great_expectations.execution_engine.pandas_execution_engine import PandasExecutionEngine
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
    from great_expectations.validator.metric_configuration import MetricConfiguration

logging.getLogger("great_expectations").setLevel(logging.CRITICAL)  # its errors may quote values

_STRICT = {
    "result_format": "BASIC",
    "partial_unexpected_count": 0,
    "exclude_unexpected_values": True,
}
_RULES = "sfumato-rules"  # where a frame carries the rules of its table
_MODELS: tuple[type[Any], ...] = get_args(get_args(Promise)[0])
_OBSERVED = {"expect_column_values_to_not_be_null": "unexpected_count"}


def _parameters(*models: type[Any]) -> tuple[str, ...]:
    """All parameters of these models: what tells one metric from another leaves none out."""
    return tuple(sorted({field.name for model in models for field in fields(model)}))


@contextmanager
def _discreet(doing: str) -> Iterator[None]:
    """Let no message out but ours: others may quote values."""
    try:
        yield
    except SfumatoError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it was, it was not evaluated
        raise PromiseError(f"{doing} could not be evaluated ({type(error).__name__})") from None


def _frame(execution_engine: Any, domain: Any) -> pd.DataFrame:
    df: pd.DataFrame = execution_engine.get_compute_domain(domain, domain_type="table")[0]
    return df


class GroupsOfFrame(TableMetricProvider):
    """The groups that a frame of counts holds, rebuilt once for all promises on them."""

    metric_name = "sfumato.groups"

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(cls, execution_engine: Any, metric_domain_kwargs: Any, **_: Any) -> Groups:
        with _discreet(GROUPS):
            return from_frame(_frame(execution_engine, metric_domain_kwargs))


class PromiseVerdict(TableMetricProvider):
    """What the privacy model with these parameters says of the groups."""

    metric_name = "sfumato.verdict"
    value_keys = _parameters(*_MODELS)

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(cls, metric_value_kwargs: Any, metrics: Any, **_: Any) -> Verdict:
        with _discreet(metric_value_kwargs["model"]):
            given = {k: v for k, v in metric_value_kwargs.items() if v is not None}
            model: PrivacyModel = PROMISE.validate_python(given)
            return model.check(metrics[GroupsOfFrame.metric_name])

    @classmethod
    def _get_evaluation_dependencies(cls, metric: Any, *_: Any, **__: Any) -> dict[str, Any]:
        name = GroupsOfFrame.metric_name
        return {name: MetricConfiguration(name, metric.metric_domain_kwargs)}


class RulesOfTable(TableMetricProvider):
    """Whether each rule that a frame carries holds of its table, and what it counted."""

    metric_name = "sfumato.rules"

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(
        cls, execution_engine: Any, metric_domain_kwargs: Any, **_: Any
    ) -> dict[str, tuple[bool, int | None]]:
        with _discreet("rules"):
            df = _frame(execution_engine, metric_domain_kwargs)
            table = pa.Table.from_pandas(df, preserve_index=False)
            table = table.replace_schema_metadata(None)
            rules: Sequence[Rule] = df.attrs[_RULES]
            return {expected(r).key: (r.holds(table), r.observed(table)) for r in rules}


class _Described(BatchExpectation):
    """An expectation that says in words what it asks for, and what was seen."""

    @classmethod
    def sentence(cls, asked: Mapping[str, Any]) -> str:
        return f"{inspect.getdoc(cls)} {json.dumps(asked) if asked else ''}"

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
            return ", ".join(f"{name} = {value}" for name, value in seen.items())
        return "--" if seen is None else str(seen)


class _ExpectPromise(_Described):
    """Groups keep a promise: the verdict of its privacy model."""

    metric_dependencies: ClassVar = (PromiseVerdict.metric_name,)

    model: str
    quasi_identifiers: list[str] | None = None
    sensitive: str | None = None

    def _validate(self, metrics: Any, *_: Any, **__: Any) -> dict[str, Any]:
        verdict: Verdict = metrics[PromiseVerdict.metric_name]
        return {"success": verdict.holds, "result": {"observed_value": observed(verdict)}}

    @classmethod
    def sentence(cls, asked: Mapping[str, Any]) -> str:
        return str(PROMISE.validate_python(dict(asked)).sentence())


class ExpectKAnonymity(_ExpectPromise):
    """Each group has at least k rows."""

    success_keys: ClassVar = _parameters(KAnonymity)
    k: int


class ExpectKEAnonymity(_ExpectPromise):
    """Each group has at least k distinct sensitive values that span at least e."""

    success_keys: ClassVar = _parameters(KEAnonymity)
    k: int
    e: int | str


class _ExpectRule(_Described):
    """A table keeps a rule of `expectations.structure`."""

    metric_dependencies: ClassVar = (RulesOfTable.metric_name,)

    def _validate(self, metrics: Any, *_: Any, **__: Any) -> dict[str, Any]:
        kwargs = self.configuration.kwargs
        asked = {k: v for k, v in kwargs.items() if k in self.success_keys}
        passed, seen = metrics[RulesOfTable.metric_name][Expected(self.expectation_type, asked).key]
        return {"success": passed, "result": {"observed_value": seen}}


class ExpectColumnTypes(_ExpectRule):
    """Each column has the type declared for it."""

    success_keys: ClassVar = ("types",)
    types: dict[str, str]


class ExpectNoForbiddenColumns(_ExpectRule):
    """No column is an identifier of the source, or one that was to be dropped."""

    success_keys: ClassVar = ("columns",)
    columns: list[str]


class ExpectNoRowNumber(_ExpectRule):
    """No column numbers the rows."""

    success_keys: ClassVar = ("besides", "more_than")
    besides: list[str]
    more_than: int


class ExpectCanonicalOrder(_ExpectRule):
    """The rows stand in the one order that their content determines."""


@dataclass(frozen=True)
class _Batch:
    """A frame to validate: under which name, for which table, and what is expected of it."""

    name: str
    table: str
    frame: pd.DataFrame
    expected: tuple[Expected, ...]


def judge(
    line: str,
    tables: Mapping[str, pa.Table],
    structure: Mapping[str, Sequence[Rule]],
    promises: Sequence[Promised],
    documents: Path | None = None,
) -> tuple[Judged, ...]:
    """Judge a release of `line` by its published tables and the groups seen in them.

    Args:
        line: name of the release line; the suites are `<line>.release` and the table's name.
        tables: the published tables, as read back from their files.
        structure: the rules that must hold of each table.
        promises: each promise with the groups it is judged on.
        documents: a private directory for Great Expectations' own results and Data Docs.

    Raises:
        PromiseError: where something was not evaluated. Failed expectations are rows that say so.
    """
    refuse_unexpected(tables, structure, promises)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        context = _context(documents)
        batches = chain(_of_tables(tables, structure), _of_promises(promises))
        judged = [row for batch in batches for row in _judged(context, line, batch, documents)]
        if documents is not None:
            with _discreet("Data Docs"):
                context.build_data_docs()
    return tuple(judged)


def _of_tables(
    tables: Mapping[str, pa.Table], structure: Mapping[str, Sequence[Rule]]
) -> Iterator[_Batch]:
    for name, table in tables.items():
        with _discreet(name):
            frame = table.to_pandas(types_mapper=pd.ArrowDtype)  # keeps types, and null apart
            frame.attrs[_RULES] = tuple(
                rule
                for rule in structure[name]
                if issubclass(get_expectation_impl(rule.type), _ExpectRule)
            )
        yield _Batch(name, name, frame, tuple(expected(rule) for rule in structure[name]))


def _of_promises(promises: Sequence[Promised]) -> Iterator[_Batch]:
    """One batch for each run of promises on the same groups."""
    for number, (_, run) in enumerate(groupby(promises, key=lambda pair: id(pair[1])), start=1):
        models, groups = zip(*run, strict=True)
        wanted = tuple(expected(model) for model in models)
        yield _Batch(f"{GROUPS}-{number}", GROUPS, to_frame(groups[0]), wanted)


def _judged(context: Any, line: str, batch: _Batch, documents: Path | None) -> tuple[Judged, ...]:
    name = f"{line}.release.{batch.name}"
    with _discreet(batch.table):
        suite = gx.ExpectationSuite(name, [_expectation(wanted) for wanted in batch.expected])
        asset = context.data_sources.add_pandas(name).add_dataframe_asset(batch.name)
        data = asset.add_batch_definition_whole_dataframe("published")
        validation = gx.ValidationDefinition(name=name, data=data, suite=context.suites.add(suite))
        result: Any = validation.run(
            batch_parameters={"dataframe": batch.frame}, result_format=_STRICT
        )
        context.data_sources.delete(name)  # lets go of the frame
        if documents is not None:
            text = json.dumps(result.to_json_dict(), indent=2)
            (documents / f"{name}.json").write_text(text, encoding="utf-8")
        outcomes = [_outcome(one) for one in result.results]
    return admitted(batch.table, batch.expected, outcomes)


def _expectation(wanted: Expected) -> Any:
    kwargs = {name.replace("-", "_"): value for name, value in wanted.parameters.items()}
    return get_expectation_impl(wanted.type)(**kwargs)


def _outcome(one: Any) -> Outcome:
    """What is told of a result: nothing but what is known to be a count or a score."""
    asked = one.expectation_config
    kwargs = {name: value for name, value in asked.kwargs.items() if name != "batch_id"}
    raised = bool(one.exception_info) and one.exception_info.get("raised_exception", True)
    seen = (one.result or {}).get(_OBSERVED.get(asked.type, "observed_value"))
    return Outcome(
        Expected(asked.type, kwargs),
        raised=raised is not False,
        passed=one.success,
        observed=seen if isinstance(seen, int | dict) else None,
    )


def _context(documents: Path | None) -> Any:
    with _discreet("Great Expectations"):
        context: Any = gx.get_context(
            mode="ephemeral",
            project_config=DataContextConfig(
                store_backend_defaults=InMemoryStoreBackendDefaults(init_temp_docs_sites=False)
            ),
        )
        context.variables.progress_bars = ProgressBarsConfig(globally=False)
        if documents is not None:
            documents.mkdir(mode=0o700, parents=True, exist_ok=True)
            store = {"class_name": "TupleFilesystemStoreBackend"}
            store["base_directory"] = str(documents.resolve() / "data-docs")
            index = {"class_name": "DefaultSiteIndexBuilder"}
            site = {"class_name": "SiteBuilder", "show_how_to_buttons": False}
            site |= {"store_backend": store, "site_index_builder": index}
            context.add_data_docs_site("private", site)
    return context
