"""Scripts without needless spaces: texts stay, and so do the spaces that code needs."""

import pytest

from sfumato.tasks.report.rendering import minify


@pytest.mark.parametrize(
    ("script", "small"),
    [
        ("const a = 1;\nlet b = a;\n", "let a=1;let b=a;\n"),
        ("if (a) {\n  return b;\n} else {\n  c();\n}\n", "if(a){return b}else{c()}\n"),
        ("x = a - -b;\ny = a + +b;\n", "x=a- -b;y=a+ +b;\n"),
        ("say(\"a  =  b\", 'c , d');\n", "say(\"a  =  b\",'c , d');\n"),
        ('say(`a ${b ? `c  ${ d } }` : "}`"} e`);\n', 'say(`a ${b ? `c  ${ d } }` : "}`"} e`);\n'),
        ('a = b.match(/ [/ ] " /g) ;\n', 'a=b.match(/ [/ ] " /g);\n'),
        ("c = (a + b) / 2 / d ;\n", "c=(a+b)/2/d;\n"),
        ("const a = (b) => / x /.test(b);\n", "let a=b=>/ x /.test(b);\n"),
        ("return `a` ;\n", "return `a`;\n"),
        (
            "for (const a of b) {\n  go(a);\n}\nclass A {}\n",
            "for(let a of b){go(a)}class A{}",
        ),
        ("a = [\n  1,\n  2,\n];\n", "a=[1,2];\n"),
        ("f(\n  [, a],\n  async (b) => c,\n);\n", "f([,a],async(b)=>c);\n"),
        ("a = b / /c/.d;\n", "a=b/ /c/.d;\n"),
    ],
)
def test_spaces_that_code_needs_stay(script, small):
    assert minify(script).strip() == small.strip()
    assert minify(small).strip() == small.strip()
