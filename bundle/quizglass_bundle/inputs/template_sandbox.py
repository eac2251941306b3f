"""Jinja for templates of strangers: they show values, choose and go through lists, in bounded time and memory.

What can grow without bound is no part of the language: macros, calls, `set` blocks, products of texts. What can be
repeated is charged before it is done: each pass of a loop by the length of its body, each text that is shown or joined
by its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateAssertionError, Undefined, nodes, pass_context
from jinja2.filters import FILTERS
from jinja2.meta import find_undeclared_variables
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

MOST_SOURCE = 64 << 10
"""Characters of a template."""
MOST_WORK = 250_000
"""Characters that a template may write, together with the parts of it that its loops pass."""
_LONGEST_RANGE = 1000
_LARGEST = 10**12
_WORK = "\ue000work"  # no name that a template can have
_PASS, _JOIN = "pass", "join"
_PARTS = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.If, nodes.For, nodes.Assign, nodes.Name, nodes.Const),
    *(nodes.List, nodes.Tuple, nodes.Getattr, nodes.Getitem, nodes.Slice, nodes.Filter, nodes.Test, nodes.Keyword),
    *(nodes.Not, nodes.And, nodes.Or, nodes.Compare, nodes.Operand, nodes.CondExpr, nodes.Concat, nodes.Call),
    *(nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Neg, nodes.Pos),
)
"""All that a template may be made of."""
_OF_TEXTS = ("capitalize", "lower", "title", "trim", "upper")
_OF_ALL = ("count", "d", "default", "first", "last", "length")


class WorkExceeded(Exception):
    """A template is too long, or takes more work than any may; the message says how much that is."""


class BoundedTemplate:
    """A template that can do little, and little of that.

    Raises:
        TemplateError: it is no template, or has what none may have.
        WorkExceeded: it is too long.
    """

    def __init__(self, source: str) -> None:
        if len(source) > MOST_SOURCE:
            raise WorkExceeded(f"it is longer than {MOST_SOURCE:,} characters")
        tree = _ENVIRONMENT.parse(source)
        _check(tree)
        self.names = frozenset(find_undeclared_variables(tree))
        """Names of the values that it shows."""
        self._template: Template = _ENVIRONMENT.from_string(_Charging().visit(tree))

    def render(self, values: dict[str, object]) -> str:
        """Its text with values: texts, numbers and lists. Raises whatever its expressions do, and WorkExceeded."""
        return self._template.render({**values, _WORK: _Work()})


class _Work:
    """The rest of one rendering's allowance."""

    def __init__(self) -> None:
        self._left = MOST_WORK

    def spend(self, amount: int) -> None:
        """Charge something that is about to be done. Raises WorkExceeded."""
        self._left -= amount
        if self._left < 0:
            raise WorkExceeded(f"it writes or repeats more than {MOST_WORK:,} characters and steps")


class _Environment(ImmutableSandboxedEnvironment):
    intercepted_binops = frozenset(("+", "*", "%"))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """A sum, product or remainder of numbers."""
        if not (isinstance(left, int | float) and isinstance(right, int | float)):
            raise TypeError(f"unsupported operand: {operator} is for numbers, and ~ joins texts")
        result = super().call_binop(context, operator, left, right)
        if abs(result) > _LARGEST:
            raise WorkExceeded(f"a number is larger than {_LARGEST:,}")
        return result


@pass_context
def _shown(context: Context, value: object) -> object:
    """A value that is written."""
    if isinstance(value, str):
        context[_WORK].spend(len(value))
    elif not (value is None or isinstance(value, int | float | Undefined)):
        raise TypeError(f"a {type(value).__name__} cannot be shown; go through it with for, or use join")
    return value


@pass_context
def _passes(context: Context, items: Iterable[object], weight: int) -> Iterator[object]:
    """What a loop goes through."""
    work: _Work = context[_WORK]
    for item in items:
        work.spend(weight)
        yield item


@pass_context
def _joined(context: Context, items: Iterable[object], separator: str = "") -> str:
    """Texts and numbers of a list, joined."""
    if isinstance(items, str) or not isinstance(separator, str):
        raise TypeError("join takes a list, and a text to put in between")
    texts = [str(item) for item in items if _scalar(item)]
    context[_WORK].spend(sum(map(len, texts)) + len(separator) * len(texts))
    return separator.join(texts)


def _scalar(item: object) -> bool:
    if not isinstance(item, str | int | float | Undefined):
        raise TypeError(f"a {type(item).__name__} cannot be joined to a text")
    return True


def _of_text(name: str) -> Callable[..., str]:
    """A filter that takes a text and nothing else: what it makes of other values may be of any length."""

    def apply(value: object) -> str:
        if not isinstance(value, str):
            raise TypeError(f"{name} takes a text")
        return str(FILTERS[name](value))

    return apply


def _range(*bounds: int) -> range:
    numbers = range(*bounds)
    if len(numbers) > _LONGEST_RANGE:
        raise WorkExceeded(f"a range has more than {_LONGEST_RANGE:,} numbers")
    return numbers


_ENVIRONMENT = _Environment(
    trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined, keep_trailing_newline=False, finalize=_shown
)
_ENVIRONMENT.globals = {"range": _range}
_FILTERS = {
    **{name: FILTERS[name] for name in _OF_ALL},
    **{name: _of_text(name) for name in _OF_TEXTS},
    _JOIN: _joined,
}
_ENVIRONMENT.filters = {**_FILTERS, _PASS: _passes}


def _check(node: nodes.Node) -> None:
    """Refuse what no template may have. Raises TemplateAssertionError."""
    if (reason := _refused(node)) is not None:
        says = f"{reason}; a template shows values, chooses with if, and goes through lists with for"
        raise TemplateAssertionError(says, getattr(node, "lineno", 1))
    for part in node.iter_child_nodes():
        _check(part)


def _refused(node: nodes.Node) -> str | None:
    if not isinstance(node, _PARTS):
        return f"{type(node).__name__.lower()} is not allowed"
    if isinstance(node, nodes.For) and node.recursive:
        return "a recursive loop is not allowed"
    if isinstance(node, nodes.Filter) and node.name not in _FILTERS:
        return f"there is no filter {node.name!r}, but {', '.join(_FILTERS)}"
    if isinstance(node, nodes.Call) and not _is_callable(node):
        return "calls are not allowed, but for range(…) and loop.cycle(…)"
    written = isinstance(node, nodes.List | nodes.Tuple) and getattr(node, "ctx", "load") == "load"
    if written and not all(isinstance(item, nodes.Const) for item in node.iter_child_nodes()):
        return "a list that is written out may have nothing but texts and numbers"
    return None


def _is_callable(call: nodes.Call) -> bool:
    if call.dyn_args is not None or call.dyn_kwargs is not None:
        return False
    match call.node:
        case nodes.Name(name="range"):
            return True
        case nodes.Getattr(node=nodes.Name(name="loop"), attr="cycle"):
            return True
    return False


class _Charging(NodeTransformer):
    """Has each pass of a loop and each joined text charged."""

    def visit_For(self, loop: nodes.For) -> nodes.For:
        weight = 1 + sum(map(_weight, (*loop.body, *([loop.test] if loop.test else []))))
        self.generic_visit(loop)
        loop.iter = nodes.Filter(loop.iter, _PASS, [nodes.Const(weight)], [], None, None, lineno=loop.lineno)
        return loop

    def visit_Concat(self, concat: nodes.Concat) -> nodes.Filter:
        self.generic_visit(concat)
        parts = nodes.List(concat.nodes, lineno=concat.lineno)
        return nodes.Filter(parts, _JOIN, [], [], None, None, lineno=concat.lineno)


def _weight(node: nodes.Node) -> int:
    """How long passing a part takes: the number of its own parts and the length of its text, without inner loops'."""
    if isinstance(node, nodes.TemplateData):
        return 1 + len(node.data)
    inner = [node.iter] if isinstance(node, nodes.For) else node.iter_child_nodes()
    return 1 + sum(map(_weight, inner))
