"""Short scripts: texts stay, and so do the spaces that code needs, and names of properties."""

import pytest

from sfumato.tasks.report.minified import minify, shorten_names


@pytest.mark.parametrize(
    ("script", "small"),
    [
        ("const a = 1;\nlet b = a;\n", "let a=1;let b=a;\n"),
        ("if (a) {\n  return b;\n} else {\n  c();\n}\n", "if(a){return b}else{c()}\n"),
        ("x = a - -b;\ny = a + +b;\n", "x=a- -b;y=a+ +b;\n"),
        ("say(\"a  =  b\", 'c , d');\n", "say(\"a  =  b\",'c , d');\n"),
        ('say(`a ${b ? `c  ${ d } }` : "}`"} e`);\n', 'say(`a ${b?`c  ${d } }`:"}`"} e`);\n'),
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


@pytest.mark.parametrize(
    ("script", "short"),
    [
        ("let low=1;say(low,other);", "let a=1;c(a,b);"),
        ("let{low,high:top=low}=given;", "let{low:a,high:c=a}=b;"),
        ("f(({low},...rest)=>({low,rest,...low}))", "c(({low:a},...b)=>({low:a,rest:b,...a}))"),
        ("class Row{get low(){return this.low+low}}", "class a{get low(){return this.low+b}}"),
        (
            "say(`low ${low} ${{low}.low} low`,/low/,'low');",
            "b(`low ${a} ${{low:a}.low} low`,/low/,'low');",
        ),
        ("x={low:a?low:top,top,go(low){}};", "d={low:c?a:b,top:b,go(a){}};"),
        ("if(a){b}else{c}Math.max(a?.b,1e9,2n)", "if(a){b}else{c}Math.max(a?.b,1e9,2n)"),
        ("f({class:low},{low});", "b({class:a},{low:a});"),
        ("for(let{low}of all){low()}", "for(let{low:a}of b){a()}"),
    ],
)
def test_variables_get_short_names_and_properties_keep_theirs(script, short):
    assert shorten_names([script]) == [short]


def test_a_name_is_the_same_in_all_scripts_and_never_one_that_stays():
    many = [f"let name{number}=a+b;" for number in range(60)]
    short = shorten_names([*many, "name7();"], ["b"])
    names = [script.removeprefix("let ").split("=")[0] for script in short[:-1]]
    assert len(set(names)) == 60
    assert "b" not in names
    assert short[-1] == f"{names[7]}();"
    assert all(script.endswith("+b;") for script in short[:-1])
