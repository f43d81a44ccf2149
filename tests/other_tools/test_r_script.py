"""R scripts: what is written in calls, and what only R could compute."""

from math import inf

import pytest

from sfumato.tasks.other_tools.r_script import COMPUTED, read_calls

FUNCTIONS = ("createSdcObj", "globalRecode", "kAnon")


def value(text, before=""):
    """The value of the argument `x` of a call with this text."""
    (call,) = read_calls(f"{before}\nkAnon(sdc, x = {text})", FUNCTIONS, "a.R")
    return call.named["x"]


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("3", 3),
        ("3L", 3),
        ("1e2", 100),
        ("-0.5", -0.5),
        ("TRUE", True),
        ("NULL", None),
        ("Inf", inf),
        ("'a\"b'", 'a"b'),
        ('"a\\"b"', 'a"b'),
        ('r"(a\'b)"', "a'b"),
        ("c(1, 'a', c(2, -3))", (1, "a", 2, -3)),
        ("c(first = 1, second = 2)", (1, 2)),
        ("4:6", (4, 5, 6)),
        ("6:4", (6, 5, 4)),
        ("c()", ()),
    ],
)
def test_values_that_are_written(text, meaning):
    assert value(text) == meaning


@pytest.mark.parametrize(
    "text",
    [
        "1 + 2",
        "names(d)",
        "paste0('a', 'b')",
        "kv",
        "c(1, f(2))",
        "1:1e9",
        "0x10",
        "function(x) x",
        "if (a) 1 else 2",
        "d$x",
        "d[['x']]",
        "1e999",
        "-'a'",
        "c(1, kv)",
    ],
)
def test_values_that_only_r_could_compute(text):
    assert value(text) is COMPUTED


@pytest.mark.parametrize(
    ("before", "meaning"),
    [
        ("kv <- c('a', 'b')", ("a", "b")),
        ("kv = 'a'", ("a")),
        ("kv <-\n  'a'", "a"),
        ("kv <- 'a'; kv <- 'b'", COMPUTED),
        ("if (x) kv <- 'a'", COMPUTED),
        ("f <- function() { kv <- 'a' }", COMPUTED),
        ("kv <- 'a'\nkv[1] <- 'b'", COMPUTED),
        ("kv <- 'a'\nnames(kv) <- 'b'", COMPUTED),
        ("kv <- 'a'\nassign('kv', 'b')", COMPUTED),
        ("kv <- 'a'\nload('all.RData')", COMPUTED),
        ("load('all.RData')\nkv <- 'a'", "a"),
        ("kv <- 'a'\n'b' -> kv", COMPUTED),
        ("kv <- 'a'\nfor (kv in 1:3) print(kv)", COMPUTED),
        ("kv <- 'a'\nf(kv = 'b')", "a"),
        ("a <- kv <- 'a'", "a"),
        ("kv <- 'a' %>% toupper()", COMPUTED),
    ],
)
def test_variables_count_if_the_script_sets_them_once(before, meaning):
    assert value("kv", before) == meaning


def test_parameters_are_matched_as_r_does():
    formals = ("dat", "keyVars", "numVars", "weightVar")
    (call,) = read_calls("createSdcObj(d, w = 'a', c('k'), num = 'n')", FUNCTIONS, "a.R")
    assert call.arguments(formals) == {
        "dat": COMPUTED,
        "keyVars": ("k",),
        "numVars": "n",
        "weightVar": "a",
    }


@pytest.mark.parametrize(
    "text", ["sdc |> kAnon(3)", "sdc %>% kAnon(3)", "sdc |>\n  sdcMicro::kAnon(3)", "kAnon(sdc, 3)"]
)
def test_pipes_and_packages(text):
    (call,) = read_calls(text, FUNCTIONS, "a.R")
    assert call.arguments(("obj", "k"))["k"] == 3


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("kAnon(s, 3)", True),
        ("if (x) kAnon(s, 3)", False),
        ("if (x) {\n kAnon(s, 3)\n}", False),
        ("f <- function(s) kAnon(s, 3)", False),
        ("for (k in 2:5) s <- kAnon(s, k)", False),
        ("# if\nkAnon(s, 3)", True),
    ],
)
def test_what_may_not_run_is_known(text, runs):
    (call,) = read_calls(text, FUNCTIONS, "a.R")
    assert call.in_braces is not runs


def test_names_in_texts_and_comments_are_no_calls():
    text = "# kAnon(s, 3)\nx <- 'kAnon(s, 3)'\nkAnon\nprint(kAnon)"
    assert read_calls(text, FUNCTIONS, "a.R") == []
