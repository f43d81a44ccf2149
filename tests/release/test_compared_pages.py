"""The markup of a release's page: mutants of its head and body, also under older software's name.

Each mutant is sealed anew and keeps every number that the page shows, so that nothing but what
the page may run, load or style tells it from the one that was published.
"""

import base64
import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.publication.check import check
from sfumato.tasks.publication.compared_pages import (
    _HEADS,
    _WITHOUT_FACTORS,
    SCRIPTS,
    WRONG_SCRIPTS,
    _data_for,
    head_digest,
    is_passive,
)
from sfumato.tasks.report.rendering import page_script
from tests.release.forge import made_with, reseal
from tests.release.small import people

OLDER = {"sfumato": "0.0.3"}
SCRIPT = "<script>alert(1)</script>"
MAIN = '<main class="release">'


def sha256(text):
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def insert_before(place, more):
    return lambda page: page.replace(place, more + place, 1)


def replace_once(place, other):
    return lambda page: page.replace(place, other, 1)


def with_allowed_script(page):
    policy = f"script-src 'sha256-{sha256('alert(1)')}'; style-src"
    return insert_before("</body>", SCRIPT)(page.replace("style-src", policy, 1))


def with_other_style(page):
    """Return the page with one more rule, which its policy allows."""
    css = re.search(r"<style>(.*?)</style>", page, re.DOTALL)[1]
    other = css + ".broken{display:none}"
    return page.replace(sha256(css), sha256(other)).replace(css, other)


def with_script(change):
    """Return the page with another script, which its policy allows."""

    def change_page(page):
        script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)[1]
        other = change(script)
        return page.replace(sha256(script), sha256(other)).replace(script, other)

    return change_page


def with_data(change):
    def change_page(page):
        data = re.search(r'id="release-data">(.*?)</script>', page)[1]
        return page.replace(data, change(data))

    return change_page


def without_script(page):
    policy = re.sub(r"script-src '[^']*'; connect-src 'self'; ", "", page, count=1)
    return re.sub(r"<script.*</script>\n", "", policy, flags=re.DOTALL)


PLACE = re.compile(r'<div id="question-line"[^>]*></div>')


def main_within(before, after):
    """Return a change that puts the main part of a page between two texts."""
    return lambda page: page.replace(MAIN, before + MAIN, 1).replace(
        "</main>", "</main>" + after, 1
    )


def policy_in_its_name(page):
    policy = re.search(r"script-src '[^']*'; connect-src 'self'; ", page)[0]
    moved = page.replace(policy, "", 1)
    return moved.replace('http-equiv="Content', f'http-equiv="{policy}Content', 1)


def place_in_a_label(page):
    place = PLACE.search(page)[0]
    return page.replace(place, "", 1).replace(MAIN, MAIN[:-1] + f' aria-label="{place}">', 1)


def folded_place(page):
    place = PLACE.search(page)[0]
    return page.replace(place, f"<details><summary>x</summary>{place}</details>", 1)


MUTANTS = {
    "tables under an escaped name": insert_before(
        MAIN, '<div class="note"><pre id="release&#45;data">{"rows":0}</pre></div>'
    ),
    "place under an escaped name": insert_before(MAIN, '<p id="question&#45;line"></p>'),
    "policy in another attribute": policy_in_its_name,
    "fill from elsewhere": replace_once("url(#soft)", "url(http://127.0.0.1/x.svg#a)"),
    "main part in a title": main_within("<title>", "</title>"),
    "main part in a picture": main_within("<svg><desc>", "</desc></svg>"),
    "main part folded": main_within("<details><summary>x</summary>", "</details>"),
    "main part for paper": main_within('<div class="on-paper">', "</div>"),
    "body for paper": insert_before(MAIN, '<body class="on-paper">'),
    "document for paper": insert_before(MAIN, '<html class="on-paper">'),
    "place in a label": place_in_a_label,
    "place folded": folded_place,
    "no place": lambda page: PLACE.sub("", page, count=1),
    "another main part": insert_before(MAIN, "<details><main></main></details>"),
    "limits folded": lambda page: re.sub(
        r'(<section aria-labelledby="limits">)(.*?)(</section>)',
        r"\1<details><summary>x</summary>\2</details>\3",
        page,
        count=1,
        flags=re.DOTALL,
    ),
    "limits in a picture": lambda page: re.sub(
        r'(<section aria-labelledby="limits">)(.*?)(</section>)',
        r"\1<svg><desc>\2</desc></svg>\3",
        page,
        count=1,
        flags=re.DOTALL,
    ),
    "limits left open": replace_once('<div class="sides">', '<div class="sides"/>'),
    "other number in code": insert_before("</main>", "<section><pre>99,999</pre></section>"),
    "other number behind stray ends": insert_before(
        "</main>", "<section></footer></code></code><p>The average is 99,999</p></section>"
    ),
    "altered script": replace_once('"use strict";', '"use strict" ;'),
    "altered script with its policy": with_script(lambda text: text.replace("1n", "2n", 1)),
    "script of another form": with_script(lambda _: page_script("labels")),
    "no script": without_script,
    "script without a policy": lambda page: re.sub(
        r"script-src '[^']*'; connect-src 'self'; ", "", page, count=1
    ),
    "connections elsewhere": replace_once("connect-src 'self'", "connect-src *"),
    "policy for two scripts": replace_once("script-src '", "script-src 'unsafe-inline' '"),
    "other values in the data": with_data(lambda data: data.replace("19", "18", 1)),
    "other codes in the data": with_data(
        lambda data: re.sub(r'("codes":")(.)', lambda m: m[1] + "AB"[m[2] == "A"], data, count=1)
    ),
    "no data": with_data(lambda _: "{}"),
    "markup in the data": with_data(lambda data: data + "</script><script>alert(1)"),
    "hidden limits": replace_once('aria-labelledby="limits"', 'hidden aria-labelledby="limits"'),
    "hidden page": replace_once(MAIN, MAIN + '<div id="question-line" data-units="rows" hidden>'),
    "two places for answers": insert_before(
        MAIN, '<div id="question-line" data-units="rows" hidden></div>'
    ),
    "data twice": lambda page: page.replace("<script>", '<p id="release-data">{}</p><script>', 1),
    "data before": insert_before(MAIN, '<p id="release-data">{}</p>'),
    "script": insert_before("</body>", SCRIPT),
    "script in the head": insert_before("</head>", SCRIPT),
    "script with a policy": with_allowed_script,
    "script before the document": lambda page: SCRIPT + page,
    "script after the document": lambda page: page + SCRIPT,
    "module": insert_before("</body>", '<script type="module" src="./data/x.js"></script>'),
    "script in capitals": insert_before("</body>", "<SCRIPT>alert(1)</SCRIPT>"),
    "script of a picture": insert_before("</svg>", SCRIPT),
    "handler": replace_once("<h1>", '<h1 onclick="alert(1)">'),
    "handler without quotes": replace_once("<h1>", "<h1 onclick=alert(1)>"),
    "handler in single quotes": replace_once("<h1>", "<h1 onclick='alert(1)'>"),
    "handler after a slash": replace_once("<h1>", '<h1/onclick="alert(1)">'),
    "no policy": lambda page: re.sub(r"<meta http-equiv[^>]*>\n", "", page),
    "looser policy": replace_once("default-src 'none'", "default-src *"),
    "inline styles": replace_once("style-src '", "style-src 'unsafe-inline' '"),
    "base": replace_once("base-uri 'none'", "base-uri *"),
    "policy behind a comment": replace_once("<meta http-equiv", "<!-- --><meta http-equiv"),
    "style": with_other_style,
    "style in the body": insert_before("</body>", "<style>.broken{display:none}</style>"),
    "style attribute": replace_once("<h1>", '<h1 style="display:none">'),
    "picture from elsewhere": insert_before("</main>", '<img src="https://example.org/x">'),
    "frame": insert_before("</main>", '<iframe src="./data/x.html"></iframe>'),
    "object": insert_before("</main>", '<object data="./x"></object>'),
    "form": insert_before("</main>", '<form action="https://example.org"><input></form>'),
    "refresh": insert_before("<title>", '<meta http-equiv="refresh" content="0;url=//x.org">'),
    "manifest": insert_before("<title>", '<link rel="manifest" href="//example.org">'),
    "base address": insert_before("<title>", '<base href="//example.org">'),
    "link elsewhere": replace_once('href="./', 'href="https://example.org/'),
    "link to a host": replace_once('href="./', 'href="//example.org/'),
    "link that runs": replace_once('href="#promise"', 'href="javascript:alert(1)"'),
    "link in digits": replace_once('href="#promise"', 'href="&#106;avascript:alert(1)"'),
    "link twice": replace_once('href="#promise"', 'href="https://example.org" href="#promise"'),
    "link of a picture": replace_once("<path ", '<path xlink:href="javascript:alert(1)" '),
    "animation": insert_before("</svg>", '<set attributeName="href" to="//example.org"/>'),
    "foreign content": insert_before("</svg>", "<foreignObject><p></p></foreignObject>"),
    "comment": insert_before("</main>", "<!-- x -->"),
    "comment that hides": insert_before("</main>", "<!-- <p> --"),
    "text that is raw": insert_before("</main>", "<noscript><p></p></noscript>"),
    "template": insert_before("</main>", "<template><p></p></template>"),
    "section of data": insert_before("</svg>", "<![CDATA[<p>]]>"),
    "instruction": insert_before("</main>", "<?xml-stylesheet href='//example.org'?>"),
    "title with markup": replace_once("<title>", "<title></title><style></style><title>"),
    "no head": lambda page: page[page.index("<body>") :],
    "no body": replace_once("<body>", "<body >"),
}


@pytest.mark.parametrize("name", MUTANTS)
@pytest.mark.parametrize("software", [{}, OLDER], ids=["this", "older"])
def test_a_page_that_may_run_load_or_style_more_is_refused(writable, name, software):
    if software:
        made_with(writable, **software)
    check(writable)
    page = writable / "index.html"
    text = page.read_text(encoding="utf-8")
    mutant = MUTANTS[name](text)
    assert mutant != text
    page.write_text(mutant, encoding="utf-8")
    reseal(writable)
    with pytest.raises(PromiseError, match=r"index\.html: differs from the published tables"):
        check(writable)


def test_a_page_whose_script_is_an_earlier_one_is_accepted_if_all_else_is_the_same(
    writable, monkeypatch
):
    page = writable / "index.html"
    text = page.read_text(encoding="utf-8")
    earlier = with_script(lambda script: script.replace('"use strict"', "'use strict'", 1))(text)
    script = re.search(r"<script>(.*?)</script>", earlier, re.DOTALL)[1]
    page.write_text(earlier, encoding="utf-8")
    reseal(writable)
    with pytest.raises(PromiseError, match=r"index\.html: differs"):
        check(writable)
    monkeypatch.setitem(SCRIPTS, sha256(script), "rows")
    monkeypatch.setitem(WRONG_SCRIPTS, sha256(script), "medians are too low")
    checked = check(writable)
    assert (checked.derived, checked.unlike) == ("equivalent", ())
    assert checked.made_with == (f"page script {sha256(script)}",)
    assert checked.wrong_script == "medians are too low"
    for change in (
        replace_once("What is promised", "What was promised"),
        with_data(lambda data: data.replace("19", "18", 1)),
        replace_once(sha256(script), sha256(script + " ")),
    ):
        page.write_text(change(earlier), encoding="utf-8")
        reseal(writable)
        with pytest.raises(PromiseError, match=r"index\.html: differs"):
            check(writable)


def test_pages_of_scripts_that_showed_no_likely_intervals_list_no_factors():
    name = '{"family":"count-by-one","of":"a \\"]} b","factor":1.5}'
    data = f'{{"shows":"columns","likely":[{name},{name}],"admitted":[]}}'
    script = min(_WITHOUT_FACTORS)
    assert _data_for(script, data) == '{"shows":"columns","likely":[],"admitted":[]}'
    assert _data_for(min(set(SCRIPTS) - _WITHOUT_FACTORS), data) == data
    assert {SCRIPTS[script].partition(",")[0] for script in _WITHOUT_FACTORS} == {"columns"}


def test_the_head_of_this_version_is_one_of_the_known(small):
    page = (small.publish("one").directory / "index.html").read_text(encoding="utf-8")
    digest = head_digest(page.partition("<body>")[0])
    assert digest in _HEADS, f"add {digest} to _HEADS"
    assert is_passive(page, page)


def test_links_of_the_publishers_words_are_those_of_the_manifest(small):
    address = "https://example.org/licence"
    directory = small.write(people(), licence=address).publish("one").directory
    made_with(directory, **OLDER)
    page = directory / "index.html"
    text = page.read_text(encoding="utf-8") + "\n"
    assert f'href="{address}"' in text
    page.write_text(text, encoding="utf-8")
    reseal(directory)
    assert check(directory).derived == "equivalent"
    page.write_text(text.replace(f'"{address}"', '"https://example.com"'), encoding="utf-8")
    reseal(directory)
    with pytest.raises(PromiseError, match=r"index\.html: differs"):
        check(directory)


@pytest.fixture(scope="module")
def page(versions_of_small):
    (page,) = versions_of_small(1).rglob("0001/index.html")
    return page.read_text(encoding="utf-8")


PIECES = ["<script>", "<b onclick=x>", "<!--", "<img src=x>", "<p style='x'>", "<p\x00>", "<"]


@given(share=st.fractions(0, 1), piece=st.sampled_from(PIECES))
def test_foreign_markup_is_refused_wherever_it_stands(page, share, piece):
    place = int(share * len(page))
    assert not is_passive(page[:place] + piece + page[place:], page)
