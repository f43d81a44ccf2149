"""A release's page by another version of the software, compared with the page made here.

Their numbers are compared, and what the published page may run or load. Its head holds the policy
and the styles, and is one of a few texts; its body is text in known elements. A page that answers
questions ends with the tables, which must be those of the page made here, and a script, which is
one of those that a version wrote. So nothing that a browser would run or load can be added to it,
also where the page claims other software.
"""

import base64
import hashlib
import re
from collections import Counter
from html.parser import HTMLParser

_HEADS = frozenset(
    {
        "4b99cb2f89fd1d3acdf0d05c79c57b5da89fcf246f3fe6ac776fdca950df5c9c",
        "66b48b8da4658f90385458169b776bebe28efebf129a31be3200d2fb4a4e7bec",
        "754d447e36d2e9563624edc31f73f39acf4d49fa0cc0eebd2155f7455e86c49e",
        "abafc57ca31aacee923e3ddec6d5f3a8bb5a9c63acb1c7b01e3c70086139c3c2",
        "c3340742ab042d58e156c7870cb756ecc90b296861085b4970b628a5ddd2e105",
    }
)
"""SHA-256 of every head that a version wrote, from the doctype to the body, without its title."""
SCRIPTS: dict[str, str] = {
    "jwOzPQdEB9FqoasNmxGml8xyruf5o1k0mZGzBujYkRo=": "columns",
    "g8yS/ZLjKicbs3EUpFoSuJKDpqEfboOiTFDYSxB2Eho=": "labels",
    "x2e1JF/LUdGvCt6P1tOyHzrEAc+y0CtD+//cEIZIyNA=": "rows",
    "btnB8yH0+WlWp+bFmzBfUQfUbSjv1wwoXW9ymKzvO80=": "subdomains",
}
"""The way of showing that each script of a version is for, by its SHA-256 in base64."""
WRONG_SCRIPTS: dict[str, str] = {}
"""The scripts among them that turned out to answer wrongly, with what is wrong."""
_POLICY = re.compile(r"script-src 'sha256-(?P<digest>[A-Za-z0-9+/]{43}=)'; connect-src 'self'; ")
_END = re.compile(
    r'<script type="application/json" id="release-data">(?P<data>[^<]*)</script>\n'
    r"<script>(?P<script>.*)</script>\n(?=</body>\n</html>\s*\Z)",
    re.DOTALL,
)
_PLACE = re.compile('<div id="question-line" data-units="(?:people|rows)" hidden></div>')
_NUMBER = re.compile(r"\d+(?:[.,\u202f]\d+)*")
# tags of a page whose text is not compared
_UNREAD = ("style", "script", "svg", "head", "code", "pre", "footer")
_TITLE = re.compile(r"(?<=<title>)[^<]*(?=</title>)")
_TAG = re.compile(
    r"<(?P<end>/?)(?P<name>[A-Za-z][A-Za-z0-9]*)"
    r"(?P<attributes>(?:\s+[A-Za-z-]+(?:=\"[^\"<]*\")?)*)\s*/?>"
)
_ATTRIBUTE = re.compile(r"\s([A-Za-z-]+)(?:=\"([^\"<]*)\")?")
_TAGS = re.compile(
    r"a|blockquote|body|br|caption|circle|code|dd|defs|desc|details|div|dl|dt|figcaption|"
    r"figure|footer|h1|h2|h3|header|html|li|linearGradient|main|nav|p|path|pre|section|span|"
    r"stop|strong|summary|svg|table|tbody|td|text|th|thead|title|tr|ul"
)
_ATTRIBUTES = re.compile(
    r"aria-hidden|aria-label|aria-labelledby|class|colspan|cx|cy|d|dy|fill|href|id|offset|open|"
    r"preserveAspectRatio|r|role|scope|stop-opacity|tabindex|text-anchor|viewBox|x|y"
)
_NEAR = re.compile(r"#|\.\.?/(?!/)")


def same_page(published: str, made: str) -> bool:
    """Compare the numbers that pages show; the published one may run and load nothing more."""
    return is_passive(published, made) and _numbers(published) == _numbers(made)


def is_passive(page: str, made: str) -> bool:
    """Decide whether a page runs and loads nothing that its own version did not write.

    Args:
        page: the published page.
        made: the page that this software makes of the same release, which names the same addresses.
    """
    head, begin, body = page.partition("<body>")
    return (
        head_digest(head) in _HEADS
        and bool(begin)
        and _runs_what_is_known(page, made)
        and (links := _links(_without_script(body))) is not None
        and links == _links(_without_script(made.partition("<body>")[2]))
    )


def head_digest(head: str) -> str:
    """Return the SHA-256 of a page's head, in hexadecimal digits, without its title and script."""
    bare = _POLICY.sub("", _TITLE.sub("", head, count=1), count=1)
    return hashlib.sha256(bare.encode()).hexdigest()


def script_of(page: str) -> str | None:
    """Return the digest of the script that a page's policy allows, or None if it allows none."""
    allowed = _POLICY.search(page.partition("<body>")[0])
    return None if allowed is None else allowed["digest"]


def _runs_what_is_known(page: str, made: str) -> bool:
    """Decide whether a page has the tables of the page made here, and a script of some version.

    A page whose policy allows no script has neither.
    """
    end, allowed = _END.search(page), script_of(page)
    end_made, allowed_made = _END.search(made), script_of(made)
    if end is None or allowed is None or end_made is None or allowed_made is None:
        return {end, allowed, end_made, allowed_made} == {None}
    return (
        end["data"] == end_made["data"]
        and allowed == script_digest(end["script"])
        and allowed in SCRIPTS
        and SCRIPTS[allowed] == SCRIPTS.get(allowed_made)
    )


def _without_script(body: str) -> str:
    """Return a body without its tables and script, and without the place where answers appear."""
    return _PLACE.sub("", _END.sub("", body), count=1)


def script_digest(script: str) -> str:
    """Return the SHA-256 of a script in base64, as policies name it."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _links(body: str) -> set[str] | None:
    """Return the addresses elsewhere that a body links to, or None if it has unknown markup.

    Attributes stand in double quotes, and there are no comments: what this pattern leaves is text,
    to a browser as well, since no element is allowed whose content is read in another way.
    """
    links, ids = set(), {"release-data", "question-line"}  # the script finds its places by name
    for tag in _TAG.finditer(body):
        pairs = _ATTRIBUTE.findall(tag["attributes"])
        attributes = dict(pairs)
        twice = len(pairs) > len(attributes)  # of two, browsers read the first
        ours = _TAGS.fullmatch(tag["name"]) and all(map(_ATTRIBUTES.fullmatch, attributes))
        if twice or not ours or (identity := attributes.get("id")) in ids:
            return None
        ids |= set() if identity is None else {identity}
        if not _NEAR.match(address := attributes.get("href", "#")):
            links.add(address)
    return None if "<" in _TAG.sub("", body) else links


def _numbers(page: str) -> Counter[str]:
    """Return every number that a page shows, with how often."""
    text = _ShownText()
    text.feed(page)
    return Counter(_NUMBER.findall(" ".join(text.shown)))


class _ShownText(HTMLParser):
    """The text of a page outside of plots, styles, code and the line about the software."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[str] = []
        self._unread = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 - as it is called
        """Stop reading if the tag is one of those that are not read."""
        self._unread += tag in _UNREAD

    def handle_endtag(self, tag: str) -> None:
        """Continue reading after such a tag."""
        self._unread -= tag in _UNREAD

    def handle_data(self, data: str) -> None:
        """Keep text that is shown."""
        if not self._unread:
            self.shown.append(data)
