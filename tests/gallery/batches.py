"""Tables in a Great Expectations project as anybody would have them, and what is said of them."""

import warnings
from contextlib import contextmanager

import pytest
import sqlalchemy as sa

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import great_expectations as gx

FORMATS = ("BOOLEAN_ONLY", "BASIC", "SUMMARY", "COMPLETE")


@contextmanager
def hush_warnings():
    """Warnings of Great Expectations are not ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def project():
    """A project, whose connections are closed at the end."""
    engines = []
    with hush_warnings(), pytest.MonkeyPatch.context() as patch:
        context = gx.get_context(mode="ephemeral")
        context.variables.progress_bars = {"globally": False}
        create = sa.create_engine

        def create_and_note(*args, **kwargs):
            engines.append(create(*args, **kwargs))
            return engines[-1]

        patch.setattr(sa, "create_engine", create_and_note)
        yield context
    for engine in engines:
        engine.dispose()


def of_frame(context, df, name="people"):
    with hush_warnings():
        asset = context.data_sources.add_or_update_pandas(name).add_dataframe_asset("table")
        whole = asset.add_batch_definition_whole_dataframe("whole")
        return whole.get_batch({"dataframe": df})


def of_table(context, url, table, name="database", query=None):
    with hush_warnings():
        source = context.data_sources.add_or_update_sql(name, connection_string=url)
        if query is None:
            asset = source.add_table_asset(table, table_name=table)
        else:
            asset = source.add_query_asset(table, query=query)
        return asset.add_batch_definition_whole_table("whole").get_batch()


def validate(batch, expectations, result_format="COMPLETE"):
    """The results by the expectation: success, observed value, message of what was raised."""
    with hush_warnings():
        result = batch.validate(
            gx.ExpectationSuite("suite", list(expectations)), result_format=result_format
        )
    assert result.statistics["evaluated_expectations"] == len(expectations)
    by_kwargs = {_key(r.expectation_config): r for r in result.results}
    return [by_kwargs[_key(e.configuration)] for e in expectations], result


def verdicts(batch, expectations):
    """Success and what was observed, of each."""
    results, _ = validate(batch, expectations)
    return [(r.success, r.result.get("observed_value")) for r in results]


def message(result):
    """Return the message about an expectation that could not be evaluated."""
    info = result.exception_info
    exception_info = info if "raised_exception" in info else next(iter(info.values()))
    return exception_info["exception_message"] if exception_info["raised_exception"] else None


def _key(config):
    kwargs = {k: v for k, v in config.kwargs.items() if k != "batch_id"}
    return config.type, repr(sorted(kwargs.items()))


def fill(url, df, table, types=None):
    engine = sa.create_engine(url)
    df.to_sql(table, engine, if_exists="replace", index=False, dtype=types)
    engine.dispose()
