"""Full-domain search on UCI Adult: milliseconds of one search, warm."""

from decimal import Decimal
from functools import partial

from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.l_diversity import DistinctLDiversity, EntropyLDiversity
from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.microdata.hierarchies import hierarchies, with_ancestors
from sfumato.tasks.microdata.source import ingest
from sfumato.tasks.microdata.table import Column, Microdata, seeded_keys
from sfumato.tasks.partitions.full_domain.full_domain import partition
from sfumato.tasks.partitions.full_domain.parameters import FullDomainParameters
from sfumato.tasks.schema.columns import ColumnSpec
from sfumato.tasks.schema.hierarchy_rules import Intervals
from tests.adult import HEADER, HIERARCHIES, NUMBERS, parquet_source
from tests.benchmarks.ke import cpu

FIVE = ("age", "workclass", "education", "marital-status", "race")
EIGHT = (*FIVE, "sex", "native-country", "occupation")


def adult(names: tuple[str, ...], sensitive: str = "salary-class") -> Microdata:
    """The 30,162 complete rows of UCI Adult with some quasi-identifiers."""
    specs = {
        name: ColumnSpec(
            role="quasi-identifier" if name in names else "insensitive",
            type="integer" if name in NUMBERS else "string",
            hierarchy=_hierarchy(name) if name in names else None,
        )
        for name in HEADER
    }
    microdata = ingest(parquet_source(), specs, "drop-row", HIERARCHIES, {}).microdata
    trees = hierarchies(specs, microdata, HIERARCHIES)
    chosen = [with_ancestors(microdata[name], trees[name]) for name in names]
    column = microdata[sensitive]
    chosen.append(Column(sensitive, "sensitive", column.values, column.codes))
    return Microdata(tuple(chosen), microdata.rows)


def _hierarchy(name: str) -> Intervals | str:
    return Intervals(intervals=(5, 10, 20)) if name == "age" else f"{name}.csv"


def main() -> None:
    """Print the milliseconds of searches for k-anonymity and l-diversity, and with a budget."""
    searches: list[tuple[PrivacyModel, tuple[str, ...], str, str]] = [
        (KAnonymity(k=5), FIVE, "salary-class", "0"),
        (KAnonymity(k=5), EIGHT, "salary-class", "0"),
        (DistinctLDiversity(l=3), FIVE, "occupation", "0"),
        (EntropyLDiversity(l=Decimal(3)), FIVE, "occupation", "0"),
        (EntropyLDiversity(l=Decimal(3)), EIGHT, "hours-per-week", "0"),
        (KAnonymity(k=5), FIVE, "salary-class", "0.01"),
        (KAnonymity(k=5), EIGHT, "salary-class", "0.01"),
        (DistinctLDiversity(l=2), EIGHT, "hours-per-week", "0.01"),
    ]
    for promise, names, sensitive, share in searches:
        table = adult(names, sensitive)
        parameters = FullDomainParameters(method="full-domain", suppression=Decimal(share))
        search = partial(partition, table, [], [promise], parameters, seeded_keys(0))
        facts = search().facts
        print(
            f"full-domain, Adult, {len(names)} QIs, {promise.name}, suppression {share}: "
            f"{1000 * cpu(search):.0f} ms, {facts['nodes_judged']} of {facts['nodes']} nodes judged"
        )
