"""Pages for stewards and of experiments in a real browser: quiet, accessible, as wide as it is."""

import pytest

from sfumato.flows.choice.compare import AskedComparison, compare_alternatives
from sfumato.flows.choice.draft import draft
from sfumato.flows.inputs.overrides import Overrides
from sfumato.tasks.choose.alternative import TriedOutcome
from sfumato.tasks.choose.paired import PairedQuery
from sfumato.tasks.choose.recommend import rank, recommend
from sfumato.tasks.experiments.registry import EXPERIMENTS
from sfumato.tasks.experiments.shared.experiment import Results
from sfumato.tasks.experiments.shared.kept import RunFacts
from sfumato.tasks.experiments.shared.pages import write_files
from sfumato.tasks.report.steward.comparison import ComparisonContent, write_comparison_page
from tests.browser.test_page import CLIPPED, CONTRAST, CROWDED, browser
from tests.browser.test_releases import ALL_RULES, COLOURS
from tests.experiments.made import inputs
from tests.profile import drafts
from tests.profile.tables import journeys, write_csv
from tests.release.small import Small, people

__all__ = ["browser"]
pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

GRID = {
    "partition": [{"method": "ke", "objective": ["sum", "weighted"]}, {"method": "mondrian"}],
    "form": [{"method": "permuted"}, {"method": "redistributed"}],
}
SPANS = {
    "workloads": [
        {"kind": "range", "aggregate": "avg", "over": "age", "spans": [5, 10, 20], "queries": 5},
        {"kind": "arbitrary", "aggregate": "sum", "selected": [10], "queries": 5},
    ]
}
LONG = "Donaudampfschiff" * 6
PLOTS = {"accuracy": 4, "comparison": 1, "crowded comparison": 1, "draft": 1, "experiment": 3}
"""How many are drawn on each page."""
DRAWN = {"accuracy": 1, "comparison": 3, "crowded comparison": 40, "draft": 3, "experiment": 4}
"""How many points a plot has, at least."""
POINTS = """() => [...document.querySelectorAll('svg.plot')].map(svg => {
  const box = svg.getBoundingClientRect();
  const inside = [...svg.querySelectorAll('circle')].filter(one => {
    const drawn = one.getBoundingClientRect();
    return drawn.width > 3 && drawn.left >= box.left - 1 && drawn.right <= box.right + 1
      && drawn.top >= box.top - 1 && drawn.bottom <= box.bottom + 1;
  });
  return inside.length;
})"""
"""How many points of each plot are seen in it."""
NARROW = """() => [...document.querySelectorAll('.scroll td')].filter(cell => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  const lines = new Set([...range.getClientRects()].map(box => Math.round(box.top)));
  return cell.textContent.trim().length < 9 && lines.size > 1;
}).map(cell => cell.textContent)"""
"""Short cells, numbers above all, that are broken into lines."""


@pytest.fixture(scope="module")
def private_pages(tmp_path_factory):
    """The pages, by what they are."""
    place = tmp_path_factory.mktemp("private")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_WORK", str(place / "work"))
        line = Small(place / "line").write(people(), title=f"Wages <in> {LONG}", evaluate=SPANS)
        comparison = AskedComparison(GRID)
        drafted = draft(line.spec, Overrides()).page
        return {
            "accuracy": drafted.parent / "accuracy.html",
            "comparison": compare_alternatives(
                line.spec, Overrides(), comparison, lambda *_: None
            ).page,
            "crowded comparison": _crowded_comparison(place),
            "draft": drafted,
            "profile": drafts.draft(place / "profile", write_csv(*journeys())).profile,
            "experiment": _experiment(place),
        }


def _crowded_comparison(place):
    """Forty alternatives of long names that are hardly apart, some of which are refused."""
    scores = [
        {"measure": "own value guessed from the group alone", "share": 0.3 + n / 400}
        for n in range(40)
    ]
    outcomes = [
        TriedOutcome(
            f"mondrian (leave 0.25) · generalized · {LONG} {n}",
            groups=1000,
            published=10**9,
            relative=[0.1 + n / 1000, None],
            widths=[10.0 + n / 10, 2.0],
            errors=[0.01, None],
            attacks={LONG: [scores[n]]},
        )
        for n in range(40)
    ]
    words = [f"avg of {LONG} by 5", "the steward's own queries"]
    queries = [PairedQuery(topic, topic, "") for topic in words]
    ranked = rank(outcomes, words)
    refused = {outcome.name: f"{LONG}: means nothing" for outcome in outcomes}
    content = ComparisonContent(
        ranked,
        recommend(ranked),
        refused,
        refused,
        queries,
        place / f"{LONG}.yaml",
        others=frozenset([outcomes[3].name]),
    )
    return write_comparison_page(place, LONG, content)


def _experiment(place):
    """The page of a paper, two of whose experiments ran quickly, one of them on two tables."""
    chosen = [EXPERIMENTS["printed-clusters"], EXPERIMENTS["optimum"]]
    measured = {
        figure.name: Results(
            {seed: list(figure.measure(figure.quick, inputs(place), seed)) for seed in (0, 1)}
        )
        for figure in chosen
    }
    facts = RunFacts(("0123456789ab",), 60, "quick", 2, 0)
    write_files(place / "experiments", chosen, measured, facts)
    return place / "experiments" / "cell-suppression.html"


@pytest.mark.parametrize(
    ("width", "scheme", "rules"),
    [(360, "light", ALL_RULES), (1280, "dark", COLOURS)],
    ids=["telephone", "desk"],
)
def test_pages_are_quiet_accessible_and_fit(browser, private_pages, width, scheme, rules):
    """By axe-core; of what is dark the colours alone, all else is as it is in the light."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
    )
    for name, path in private_pages.items():
        page = context.new_page()
        requests, complaints = [], []
        page.on("request", lambda request, into=requests: into.append(request.url))
        page.on("console", lambda message, into=complaints: into.append(message.text))
        page.on("pageerror", lambda error, into=complaints: into.append(str(error)))
        page.goto(path.as_uri())
        assert (name, requests, complaints) == (name, [path.as_uri()], [])
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        points = page.evaluate(POINTS)
        assert len(points) == PLOTS.get(name, 0), name
        assert min(points, default=0) >= DRAWN.get(name, 0), (name, points)
        assert page.evaluate(CLIPPED) == [], name
        assert page.evaluate(CROWDED) == 0, name
        assert page.evaluate(CONTRAST) >= 4.5, name
        assert page.evaluate(NARROW) == [], name
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        result = axe.run(page, options=rules)
        violations = [
            (violation["id"], violation["nodes"][0]["html"])
            for violation in result.response["violations"]
        ]
        assert (name, violations) == (name, [])
        page.close()
    context.close()
