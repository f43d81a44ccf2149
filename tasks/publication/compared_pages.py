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
from collections.abc import Mapping
from html.parser import HTMLParser

_HEADS = frozenset(
    {
        "b47d8e7aba61c55349e45b940d39eb242b17a1da748000e93bd9b515fa5cdc8e",
        "4b99cb2f89fd1d3acdf0d05c79c57b5da89fcf246f3fe6ac776fdca950df5c9c",
        "66b48b8da4658f90385458169b776bebe28efebf129a31be3200d2fb4a4e7bec",
        "754d447e36d2e9563624edc31f73f39acf4d49fa0cc0eebd2155f7455e86c49e",
        "7845931d017ab42b0ed61dd06b84dc636060866b241bfb389e10058662abce35",
        "c3340742ab042d58e156c7870cb756ecc90b296861085b4970b628a5ddd2e105",
        "fd04884fd8e4db47e5e0dc02d4c6fcaf4498d20e107482d151270141bc0d1883",
    }
)
"""SHA-256 of every head that a version wrote, from the doctype to the body, without its title."""
SCRIPTS: dict[str, str] = {
    "Vm+xZdrJ+lRblI2iHRjaym2JtdW7kYDcLVoRiqTRkwE=": "columns",
    "fQDkCq1NhqSv7gA2dzZQckaTlTzO/sIyj6ou1krpnA4=": "labels",
    "mdZraApcMDeXAwd3Xifx6PQYQ9IUjdLj+hJMpv7bFaQ=": "rows",
    "5YVgqR44VPoZdwso3lD7rQhxgE1BDGJOiZzBphpFJc0=": "subdomains",
    "hpI1K3IRyq2wxSnOWdy92A4eAbHcKiF9NosdWTlCAJw=": "columns, fetched",
    "zcDoGos+3Fwno37Q4D6FJlFKvamlEtdIdkm5/kJQn68=": "labels, fetched",
    "BDfiN5s7zUP90sYRYexoYCSkgFLaiJb/ISiM3mfixuU=": "rows, fetched",
    "IfME9cvN6QkKwR78QBlbDPYVreuE8Vi3MnQLAuc6qBY=": "rows",
    "BuQyGtZT3QM4vrrbFls2oxa97REyS3AXKypK8yzjsmM=": "rows, fetched",
    "TcdnsZo7Wcsl6sP7rHu6ULmw0x6gsGxGO0PbMNQIw3U=": "columns",
    "R0hY0cnBEY7bsnIvdu6wIou4v+UguBWtk15laAted+k=": "columns, fetched",
    "pohgTRY/9g6qxLiYGTCKawBb6YgOkZOeqkfQpl28vKY=": "subdomains",
    "rRzwF/+Ws29Gv2OYMWZY1rNEjJzJAnPnP7asQQ51Eaw=": "subdomains, fetched",
    "jRk58POrOD55w/uSFav9PEixHAXtv6cg21CtU36QcgU=": "labels",
    "gar0zYaa7A4zRWIGTjaCcMAfNnYNmD2jyZy6WOY7yTE=": "labels, fetched",
    "reiUHS0ROQoiZuo3+h/2cLuzGFWy6DpOEBWuTGtlSlw=": "rows",
    "KS+66sXI9RVaJex5U5mFsf9eAoo50gV0vIEdUyBxF1k=": "rows, fetched",
    "FzZemAxKx1Qy+Wa7PQ9b4qtDohRdirqSj298sStzAB4=": "labels",
    "Hpjf2dKicQn4uC7ZSxtyUStHbQvZmQhRFsSUchJE2+E=": "labels, fetched",
    "+7ermrl0hQfN/JC46Jh5BEFMQOD25jOStxpNmIsjrLA=": "columns",
    "RSMaLcRIU7+7BjlhoooICQz2wxxspupGbVjWd0ARsvg=": "columns, fetched",
    "PWXuySfTZVt0nCjfRmFVS109ID0FaOxD32zHxuB5vfI=": "subdomains",
    "S/zsIyNt1eQD5xO0nZ/sCvK22rDL0yxAf8W/p9o2tcM=": "subdomains, fetched",
    "I3Jqc2q9MmpVH+t6WZat7SSO9PYJyfc+jNs+JzwCq2g=": "columns",
    "zvpJs/e2rbuAKYdU+e2lAh5BS4Ge0IdG/sy6ROkPSP0=": "columns, fetched",
    "9GUdKND20jPeDOv6B3eYUWk57gFGz+Ct0sObLBGSY+A=": "rows",
    "EgqAiYjLSFfL4ffjSme2OaQfMiWnzD0+Y+Q5G/R+W7A=": "rows, fetched",
    "OZDw0/xu7zsFGekxltHE1qRcrtTHo/iHMcTuh/KvNgw=": "columns",
    "+8xyzBLsawt1IPFmAv4rAeHBdLZZcobCTnNjICTxojg=": "columns, fetched",
    "b6zwy43y95vCUH5e6Xsp8wLqAs0qPA19Ef8IcICEx/A=": "subdomains",
    "lB4xBSTmQ+X3Yi1L0DzSrOuKyiQCt/Erofn7MhheO8I=": "subdomains, fetched",
    "8xuMDHAo23aT/zO5FEI0wyGvuVQbyBoUioOYef/2/QY=": "labels",
    "xvSgyM2WP4hOEqKFpMubP6X+KVaCjjQLQ2WKrJV6Z+E=": "labels, fetched",
    "PbgMGN4YBgQ9wYdMl/9eq4eZotpD2XMJMN+V4jNrPxI=": "rows, fetched",
    "UqVWNuOSN1UD9nGMVo+Oqytha3XEHbU2C7qoC17mylo=": "columns",
    "FEeCRWutPBQOg/4kVhRDZwNcmbUuCDppFqmZkG+O5D4=": "columns, fetched",
    "xg6gAkfjn/211n0NUk3AMgsAdHLwXMkdjDEw5zgD5is=": "subdomains, fetched",
    "czz6XB/km12Hn5VDXVNzAdFSISeuBpSNA2/4usvgpB8=": "labels, fetched",
    "AGtkH/7iSgA4Ti72Fq0TiUT7+M9MyiJ/giNNzSCYzxg=": "apart",
    "TwNYrttOUUW5R1MNq5UxzFM59M+rkgU+Mh1+NvwTbJI=": "columns",
    "RWuVZyylBQcxE2SYmyiOrGGjtIjirC1uDA30JoAPK4o=": "labels",
    "DZjc+ctnHbvhZKV2PIsCPGCYHgm7HyBVSzrRb/xtBsg=": "rows",
    "OvQLpJYR0HqgxOtBUuQToTYA2oUnhWDa608awFzAHcY=": "subdomains",
    "G7AgAohF+GYiX5QV7oOxMAIsQxBG2z5DdcSIZKmtSy0=": "apart, fetched",
    "BMGfA60fg/azP6OmaA7vzz3pAWUrYO+6mYaxXWrPJXM=": "columns, fetched",
    "i5FyaRidYutUS58oBKyM98QSG+zIzKbufM6O49rDTpw=": "labels, fetched",
    "AwoZ19HnMBH8kPulKRSH/M+phQjkETy9aue64y9Z9TM=": "rows, fetched",
    "XSOdkFKrQWaB+puMbvZxhZPvQ+SnEQknLQEPQz3E+QM=": "subdomains, fetched",
    "GUcg5hiGiGJRgJKo9sEG8uwFvq3eA93FtYiAlj8X7ng=": "rows",
    "sz6AocZx1fkJJwv131PFr5P7m5C4dG4IemL8VQ2cTX8=": "rows, fetched",
    "a29Lf5U+L5MsiH8KO2NKEv9ABg0osyClYGdTBILC46s=": "apart",
    "gMnak9gNs9jtTUczmtRpNuJIcfRDH7zAOe999erHPII=": "apart, fetched",
    "F6KawRckhixNkNx92B0V/mTnm6c8KaSdWRl9Du/nlV0=": "facts",
    "Kbg3xCA0gWVRTNCtAjIy53EeSOjnDkDWE+/nB4OcHJY=": "facts, fetched",
}
"""The way of showing, and of reading tables, of each script of a version.

Keys are SHA-256 in base64, as policies name scripts.
"""
WRONG_SCRIPTS: dict[str, str] = {}
"""The scripts among them that turned out to answer wrongly, with what is wrong."""
_WITHOUT_FACTORS = frozenset(
    {
        "TcdnsZo7Wcsl6sP7rHu6ULmw0x6gsGxGO0PbMNQIw3U=",
        "R0hY0cnBEY7bsnIvdu6wIou4v+UguBWtk15laAted+k=",
    }
)
"""The scripts whose pages list no factors of likely intervals, though the release states some."""
_FACTORS = re.compile(r'(?<=,"likely":\[)(?:\{(?:"(?:[^"\\]|\\.)*"|[^{}"])*\},?)+(?=\])')
_POLICY = re.compile(
    r"(?P<before><meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
    r"style-src 'sha256-[A-Za-z0-9+/]{43}='; )"
    r"script-src 'sha256-(?P<digest>[A-Za-z0-9+/]{43}=)'; connect-src 'self'; "
    r"(?=base-uri 'none'; form-action 'none'\">)"
)
_END = re.compile(
    r'<script type="application/json" id="release-data">(?P<data>[^<]*)</script>\n'
    r"<script>(?P<script>.*)</script>\n(?=</body>\n</html>\s*\Z)",
    re.DOTALL,
)
_NUMBER = re.compile(r"\d+(?:[.,\u202f]\d+)*")
# tags of a page whose text is not compared
_UNREAD = ("style", "script", "svg", "head")
_TITLE = re.compile(r"(?<=<title>)[^<]*(?=</title>)")
_TAG = re.compile(
    r"<(?P<end>/?)(?P<name>[A-Za-z][A-Za-z0-9]*)"
    r"(?P<attributes>(?:\s+[A-Za-z-]+(?:=\"[^\"<]*\")?)*)\s*(?P<empty>/?)>"
)
_ATTRIBUTE = re.compile(r"\s([A-Za-z-]+)(?:=\"([^\"<]*)\")?")
_PARENTS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("header", "main", "footer"), ("body",)),
    "section": ("main",),
    "summary": ("details",),
}
"""Elements that stand in no others."""
_CHILDREN: Mapping[str, tuple[str, ...]] = {
    "body": ("header", "main", "footer"),
    "main": ("section",),
    "pre": ("code",),
    "svg": ("title", "desc", "defs", "path", "circle", "text"),
    "defs": ("linearGradient",),
    "linearGradient": ("stop",),
    **dict.fromkeys(("title", "desc", "text"), ()),
}
"""Elements that contain no others: browsers would hide them, or what is in them."""
_INNER = frozenset({"title", "desc", "defs", "path", "circle", "text", "linearGradient", "stop"})
_EMPTY = frozenset({"path", "circle", "stop", "br"})
_TAGS = re.compile(
    r"a|blockquote|br|caption|circle|code|dd|defs|desc|details|div|dl|dt|figcaption|figure|footer|"
    r"h1|h2|h3|header|li|linearGradient|main|nav|p|path|pre|section|span|stop|strong|summary|svg|"
    r"table|tbody|td|text|th|thead|title|tr|ul"
)
_TEXT = re.compile("[^&]*")
_VALUES: Mapping[str, re.Pattern[str]] = {
    **dict.fromkeys(
        (
            *("aria-hidden", "colspan", "cx", "cy", "d", "dy", "offset", "open", "r", "role"),
            *("preserveAspectRatio", "scope", "stop-opacity", "tabindex", "text-anchor"),
            *("viewBox", "x", "y"),
        ),
        _TEXT,
    ),
    **dict.fromkeys(("aria-label", "aria-labelledby", "href"), re.compile(".*", re.DOTALL)),
    "class": re.compile(r"(?!on-paper$)[a-z -]*"),
    "fill": re.compile(r"url\(#[a-z-]+\)"),
    "id": re.compile(r"(?!release-data$|question-line$)[A-Za-z][A-Za-z0-9-]*"),
}
"""The attributes of elements, and the values that they can have."""
_PLACE = re.compile(r' id="question-line" data-units="(?:people|rows)" hidden')
"""The attributes of the element in which a script shows answers."""
_PRINTED = ("p", "footer", ' class="on-paper"')
"""The element that only paper shows."""
_UNFOLDED = (["promise"], ["limits"])
"""Sections that nothing in them may fold."""
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
        and (links := _links(_END.sub("", body))) is not None
        and links == _links(_END.sub("", made.partition("<body>")[2]))
    )


def head_digest(head: str) -> str:
    """Return the SHA-256 of a page's head, in hexadecimal digits, without its title and script."""
    bare = _POLICY.sub(r"\g<before>", _TITLE.sub("", head, count=1), count=1)
    return hashlib.sha256(bare.encode()).hexdigest()


def script_of(page: str) -> str | None:
    """Return the digest of the script that a page's policy allows, or None if it allows none."""
    allowed = _POLICY.search(page.partition("<body>")[0])
    return None if allowed is None else allowed["digest"]


def earlier_script(page: str, made: str) -> str | None:
    """Return the digest of a page's script if nothing else tells the page from the one made here.

    Returns None if the page has another difference, or a script that no version wrote for it.
    """
    end, end_made, allowed = _END.search(page), _END.search(made), script_of(page)
    if end is None or end_made is None or allowed is None or not _runs_what_is_known(page, made):
        return None
    text, last = made[: end_made.start()], made[end_made.end() :]
    same = text.replace(script_of(made) or "", allowed, 1) + end[0] + last
    return allowed if page == same else None


def _runs_what_is_known(page: str, made: str) -> bool:
    """Decide whether a page has the tables of the page made here, and a script of some version.

    A page whose policy allows no script has neither.
    """
    end, allowed = _END.search(page), script_of(page)
    end_made, allowed_made = _END.search(made), script_of(made)
    if end is None or allowed is None or end_made is None or allowed_made is None:
        return {end, allowed, end_made, allowed_made} == {None}
    return (
        end["data"] == _data_for(allowed, end_made["data"])
        and allowed == script_digest(end["script"])
        and allowed in SCRIPTS
        and SCRIPTS[allowed] == SCRIPTS.get(allowed_made)
    )


def _data_for(script: str, data: str) -> str:
    """Return the data of the page made here as an earlier script was given it."""
    return _FACTORS.sub("", data) if script in _WITHOUT_FACTORS else data


def script_digest(script: str) -> str:
    """Return the SHA-256 of a script in base64, as policies name it."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _links(body: str) -> set[str] | None:
    """Return the addresses elsewhere that a body links to, or None if it has unknown markup.

    Attributes stand in double quotes, every element ends, and there are no comments. What this
    pattern leaves is text, to a browser as well, since no element is allowed whose content is read
    in another way. The place that the script fills is one of the addresses.
    """
    elements = _Elements()
    if "<" in _TAG.sub("", body) or not all(map(elements.read, _TAG.finditer(body))):
        return None
    return elements.links if elements.is_whole else None


class _Elements:
    """The elements of a body, read tag by tag."""

    def __init__(self) -> None:
        self.links: set[str] = set()
        self._within = ["html", "body"]
        self._sections: list[str] = []
        self._ids: set[str] = set()

    @property
    def is_whole(self) -> bool:
        """True if all elements have ended."""
        return not self._within

    def read(self, tag: re.Match[str]) -> bool:
        """Read a tag; return False if no version writes it there."""
        name = tag["name"]
        if tag["end"]:
            ends = not tag["attributes"] and self._within[-1:] == [name]
            return ends and bool(self._within.pop())
        parent = self._within[-1] if self._within else ""
        if not _TAGS.fullmatch(name) or not _may_contain(parent, name):
            return False
        if (name in _EMPTY) != (bool(tag["empty"]) or name == "br"):
            return False
        if name not in _EMPTY:
            self._within.append(name)
        if (name, parent, tag["attributes"]) == _PRINTED:
            return self._is_new("on-paper")
        if (name, parent) == ("div", "section") and _PLACE.fullmatch(tag["attributes"]):
            self.links.add("question-line")
            return self._is_new("question-line")
        return self._read_attributes(name, _ATTRIBUTE.findall(tag["attributes"]))

    def _read_attributes(self, name: str, pairs: list[tuple[str, str]]) -> bool:
        attributes = dict(pairs)
        allowed = all(key in _VALUES and _VALUES[key].fullmatch(text) for key, text in pairs)
        twice = len(pairs) > len(attributes)  # of two, browsers read the first
        if not allowed or twice or not self._is_new(attributes.get("id")):
            return False
        if name == "section":
            self._sections.append(attributes.get("aria-labelledby", ""))
        if not _NEAR.match(address := attributes.get("href", "#")):
            self.links.add(address)
        return name != "details" or self._sections[-1:] not in _UNFOLDED

    def _is_new(self, identity: str | None) -> bool:
        """Decide whether no element had this id before."""
        is_new = identity not in self._ids
        self._ids |= set() if identity is None else {identity}
        return is_new


def _may_contain(parent: str, name: str) -> bool:
    """Decide whether an element may stand in another one, whose content browsers show."""
    children = _CHILDREN.get(parent)
    if children is not None:
        return name in children
    return name not in _INNER and parent in _PARENTS.get(name, (parent,)) and parent != ""


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
