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
from sfumato.tasks.publication.page_markup import _HEADS, head_digest, is_passive
from tests.release.forge import made_with, reseal
from tests.release.small import people

OLDER = {"sfumato": "0.0.3"}
SCRIPT = "<script>alert(1)</script>"


def sha256(text):
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def before(place, more):
    return lambda page: page.replace(place, more + place, 1)


def instead(place, other):
    return lambda page: page.replace(place, other, 1)


def with_allowed_script(page):
    policy = f"script-src 'sha256-{sha256('alert(1)')}'; style-src"
    return before("</body>", SCRIPT)(page.replace("style-src", policy, 1))


def with_other_style(page):
    """Return the page with one more rule, which its policy allows."""
    css = re.search(r"<style>(.*?)</style>", page, re.DOTALL)[1]
    other = css + ".broken{display:none}"
    return page.replace(sha256(css), sha256(other)).replace(css, other)


MUTANTS = {
    "script": before("</body>", SCRIPT),
    "script in the head": before("</head>", SCRIPT),
    "script with a policy": with_allowed_script,
    "script before the document": lambda page: SCRIPT + page,
    "script after the document": lambda page: page + SCRIPT,
    "module": before("</body>", '<script type="module" src="./data/x.js"></script>'),
    "script in capitals": before("</body>", "<SCRIPT>alert(1)</SCRIPT>"),
    "script of a picture": before("</svg>", SCRIPT),
    "handler": instead("<h1>", '<h1 onclick="alert(1)">'),
    "handler without quotes": instead("<h1>", "<h1 onclick=alert(1)>"),
    "handler in single quotes": instead("<h1>", "<h1 onclick='alert(1)'>"),
    "handler after a slash": instead("<h1>", '<h1/onclick="alert(1)">'),
    "no policy": lambda page: re.sub(r"<meta http-equiv[^>]*>\n", "", page),
    "looser policy": instead("default-src 'none'", "default-src *"),
    "inline styles": instead("style-src '", "style-src 'unsafe-inline' '"),
    "base": instead("base-uri 'none'", "base-uri *"),
    "policy behind a comment": instead("<meta http-equiv", "<!-- --><meta http-equiv"),
    "style": with_other_style,
    "style in the body": before("</body>", "<style>.broken{display:none}</style>"),
    "style attribute": instead("<h1>", '<h1 style="display:none">'),
    "picture from elsewhere": before("</main>", '<img src="https://example.org/x">'),
    "frame": before("</main>", '<iframe src="./data/x.html"></iframe>'),
    "object": before("</main>", '<object data="./x"></object>'),
    "form": before("</main>", '<form action="https://example.org"><input></form>'),
    "refresh": before("<title>", '<meta http-equiv="refresh" content="0;url=//example.org">'),
    "manifest": before("<title>", '<link rel="manifest" href="//example.org">'),
    "base address": before("<title>", '<base href="//example.org">'),
    "link elsewhere": instead('href="./', 'href="https://example.org/'),
    "link to a host": instead('href="./', 'href="//example.org/'),
    "link that runs": instead('href="#promise"', 'href="javascript:alert(1)"'),
    "link in digits": instead('href="#promise"', 'href="&#106;avascript:alert(1)"'),
    "link twice": instead('href="#promise"', 'href="https://example.org" href="#promise"'),
    "link of a picture": instead("<path ", '<path xlink:href="javascript:alert(1)" '),
    "animation": before("</svg>", '<set attributeName="href" to="//example.org"/>'),
    "foreign content": before("</svg>", "<foreignObject><p></p></foreignObject>"),
    "comment": before("</main>", "<!-- x -->"),
    "comment that hides": before("</main>", "<!-- <p> --"),
    "text that is raw": before("</main>", "<noscript><p></p></noscript>"),
    "template": before("</main>", "<template><p></p></template>"),
    "section of data": before("</svg>", "<![CDATA[<p>]]>"),
    "instruction": before("</main>", "<?xml-stylesheet href='//example.org'?>"),
    "title with markup": instead("<title>", "<title></title><style></style><title>"),
    "no head": lambda page: page[page.index("<body>") :],
    "no body": instead("<body>", "<body >"),
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


def test_the_head_of_this_version_is_one_of_the_known(small):
    page = (small.publish("one").directory / "index.html").read_text(encoding="utf-8")
    assert head_digest(page.partition("<body>")[0]) in _HEADS
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
