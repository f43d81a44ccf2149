"""Small faults that can be put into a module: one at a time, by its syntax tree.

Texts, annotations and docstrings are left alone: a wrong word is not a wrong release.
"""

import ast
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """A module's source with one fault: where the fault is, and which."""

    line: int
    what: str
    source: str


_COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.RShift: ast.LShift,
    ast.LShift: ast.RShift,
}
Change = tuple[str, Callable[[ast.AST], ast.AST | list[ast.stmt]]]


def mutants(source: str) -> Iterator[Mutant]:
    """Every mutant of a module, in the order of its source."""
    tree = ast.parse(source)
    for number, node in enumerate(_nodes(tree)):
        for what, change in _changes(node):
            copy = deepcopy(tree)
            target = list(_nodes(copy))[number]
            mutated: ast.Module = _Replace(target, change(target)).visit(copy)
            ast.fix_missing_locations(mutated)
            yield Mutant(getattr(node, "lineno", 1), what, ast.unparse(mutated))


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST | list[ast.stmt]) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> ast.AST | list[ast.stmt]:
        return self._new if node is self._old else self.generic_visit(node)


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all below it that may be changed."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "type_params", "bases"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_text(child):
                yield from _nodes(child)


def _is_text(node: ast.AST) -> bool:
    """True for docstrings and for f-strings, which are messages."""
    if isinstance(node, ast.Expr):
        node = node.value
        return isinstance(node, ast.Constant)
    return isinstance(node, ast.JoinedStr)


def _changes(node: ast.AST) -> Iterator[Change]:
    for kind, changes in _CHANGES.items():
        if isinstance(node, kind):
            yield from changes(node)


def _of_compare(node: ast.Compare) -> Iterator[Change]:
    for other in _COMPARED[type(node.ops[0])]:
        yield (
            f"{_name(node.ops[0])} to {other.__name__}",
            _with_fields(ops=[other(), *node.ops[1:]]),
        )


def _of_constant(node: ast.Constant) -> Iterator[Change]:
    if isinstance(node.value, bool):
        yield f"{node.value} to {not node.value}", _with_fields(value=not node.value)
    elif isinstance(node.value, int):
        for other in (node.value + 1, node.value - 1):
            yield f"{node.value} to {other}", _with_fields(value=other)


def _of_operation(node: ast.BinOp | ast.AugAssign) -> Iterator[Change]:
    if other := _COMPUTED.get(type(node.op)):
        yield f"{_name(node.op)} to {other.__name__}", _with_fields(op=other())


def _of_boolean(node: ast.BoolOp) -> Iterator[Change]:
    other = ast.Or if isinstance(node.op, ast.And) else ast.And
    yield f"{_name(node.op)} to {other.__name__}", _with_fields(op=other())


def _of_not(node: ast.UnaryOp) -> Iterator[Change]:
    if isinstance(node.op, ast.Not | ast.Invert | ast.USub):
        yield f"no {_name(node.op)}", lambda operation: operation.operand


def _of_test(node: ast.If | ast.IfExp | ast.While) -> Iterator[Change]:
    for what, value in (("always", True), ("never", False)):
        if not (isinstance(node, ast.While) and value):
            yield f"{_name(node)} {what}", _with_fields(test=ast.Constant(value))


def _of_filter(node: ast.comprehension) -> Iterator[Change]:
    if node.ifs:
        yield "no if of a comprehension", _with_fields(ifs=[])


def _of_statement(node: ast.Expr | ast.Raise | ast.AugAssign | ast.Delete) -> Iterator[Change]:
    yield f"no {_name(node)}", lambda _: ast.Pass()


def _of_assignment(node: ast.Assign) -> Iterator[Change]:
    """Those to a part of something: a name that is gone is noticed by anything."""
    if isinstance(node.targets[0], ast.Subscript | ast.Attribute):
        yield "no assignment", lambda _: ast.Pass()


def _of_with(node: ast.With) -> Iterator[Change]:
    if all(item.optional_vars is None for item in node.items):
        yield "no with", lambda statement: statement.body


def _of_try(node: ast.Try) -> Iterator[Change]:
    if node.finalbody:
        yield "no finally", _with_fields(finalbody=[ast.Pass()])


def _of_return(node: ast.Return) -> Iterator[Change]:
    if node.value is not None and not isinstance(node.value, ast.Constant):
        yield "return None", _with_fields(value=ast.Constant(None))


def _of_call(node: ast.Call) -> Iterator[Change]:
    if len(node.args) > 1 and not any(
        isinstance(argument, ast.Starred) for argument in node.args[:2]
    ):
        yield "swapped arguments", _with_fields(args=[node.args[1], node.args[0], *node.args[2:]])
    for number, keyword in enumerate(node.keywords):
        rest = node.keywords[:number] + node.keywords[number + 1 :]
        if keyword.arg is not None:
            yield f"no {keyword.arg}=", _with_fields(keywords=rest)


def _of_jump(node: ast.Continue | ast.Break) -> Iterator[Change]:
    other = ast.Break if isinstance(node, ast.Continue) else ast.Continue
    yield f"{_name(node)} to {other.__name__}", lambda _: other()


_CHANGES: dict[type | tuple[type, ...], Callable[..., Iterator[Change]]] = {
    ast.Compare: _of_compare,
    ast.Constant: _of_constant,
    (ast.BinOp, ast.AugAssign): _of_operation,
    ast.BoolOp: _of_boolean,
    ast.UnaryOp: _of_not,
    (ast.If, ast.IfExp): _of_test,
    ast.While: _of_test,
    ast.comprehension: _of_filter,
    (ast.Expr, ast.Raise, ast.AugAssign, ast.Delete): _of_statement,
    ast.Assign: _of_assignment,
    ast.With: _of_with,
    ast.Try: _of_try,
    ast.Return: _of_return,
    ast.Call: _of_call,
    (ast.Continue, ast.Break): _of_jump,
}


def _with_fields(**fields: object) -> Callable[[ast.AST], ast.AST]:
    """The same node with other fields."""

    def change_node(node: ast.AST) -> ast.AST:
        for name, value in fields.items():
            setattr(node, name, deepcopy(value))
        return node

    return change_node


def _name(node: ast.AST) -> str:
    return type(node).__name__
