"""Statements of a plain function: variables are slots of the stack, which LLVM turns into values."""

import ast
from typing import Any

import numpy as np
from llvmlite import ir

from tapegrad.engine.codegen.translator import values
from tapegrad.engine.codegen.translator.calls import CallTranslator
from tapegrad.engine.codegen.translator.values import (
    I64,
    Constant,
    NotPlainError,
    Record,
    cast,
    common,
    kind_of,
    materialized,
)


class RetryTyping(Exception):
    """A variable or the result is of another kind than it was held for."""


class TypeEnvironment:
    """Kinds of a function's variables and of its result: known before it is translated, or found while it is.

    Attributes
    ----------
    variables
        Kinds of the variables by their names.
    result
        Kind of what the function returns; `None` for nothing.
    returns
        Whether `result` is known.
    """

    def __init__(self) -> None:
        self.variables: dict[str, Any] = {}
        self.result: Any = None
        self.returns = False

    def note(self, name: str, kind: Any) -> Any:
        """Note that a variable is given a value of this kind."""
        known = self.variables.setdefault(name, kind)
        if known != kind:
            self.variables[name] = common(known, kind)
            if self.variables[name] != known:
                raise RetryTyping
        return known

    def note_result(self, kind: Any) -> Any:
        """Note that a result is of this kind."""
        if not self.returns:
            self.returns, self.result = True, kind
        elif self.result != kind:
            known, self.result = self.result, common(self.result, kind)
            if self.result != known:
                raise RetryTyping
        return self.result


class Statements(CallTranslator):
    """The statements of one function, in its LLVM function."""

    def __init__(
        self,
        function: Any,
        part: Any,
        tree: ast.FunctionDef,
        arguments: dict[str, Any],
        kinds: TypeEnvironment,
    ):
        super().__init__(function, part)
        self._kinds = kinds
        self._known = {name: each for name, each in arguments.items() if isinstance(each, Constant)}
        self._arguments = {name: each for name, each in arguments.items() if name not in self._known}
        stored = {
            node.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        if stored & self._known.keys():
            raise NotPlainError("a table that is given another value")
        self._local = stored | self._arguments.keys()
        self._stack_slots: dict[str, Any] = {}
        self._loops: list[tuple[Any, Any]] = []  # where `continue` and `break` go
        self._reached: set[Any] = set()  # blocks after loops without an end that are left by `break`
        self._body = tree.body

    def write(self, function: ir.Function) -> None:
        """Fill LLVM's function."""
        self._entry = function.append_basic_block("entry")
        self.builder = ir.IRBuilder(function.append_basic_block("body"))
        fields = iter(function.args)
        for name, kind in self._arguments.items():
            self._assign(name, values.of_fields(kind, fields))
        self.block(self._body)
        if not self.builder.block.is_terminated:
            self._leave(None)
        start = function.basic_blocks[1]
        self.builder.position_at_end(self._entry)
        self.builder.branch(start)

    def block(self, statements: list[ast.stmt]) -> None:
        """Emit statements up to the first that leaves the block."""
        for statement in statements:
            if self.builder.block.is_terminated:
                return
            method = getattr(self, f"_on_{type(statement).__name__.lower()}", None)
            if method is None:
                raise NotPlainError(type(statement).__name__)
            method(statement)

    # --- variables ---------------------------------------------------------------------------------------------

    def read(self, name: str) -> Any:
        """Read a variable."""
        if name in self._known:
            return self._known[name]
        if name not in self._local:
            return super().read(name)
        if name not in self._stack_slots:
            raise NotPlainError(f"{name} is read before it has a value")
        kind = self._kinds.variables[name]
        return values.of_fields(kind, map(self.builder.load, self._stack_slots[name]))

    def _assign(self, name: str, value: Any) -> None:
        value = materialized(value)
        if value is None:
            raise NotPlainError(f"{name} is nothing")
        kind = self._kinds.note(name, kind_of(value))
        if name not in self._stack_slots:
            with self.builder.goto_block(self._entry):
                self._stack_slots[name] = [self.builder.alloca(type_) for type_ in values.fields_of(kind)]
        fields = values.fields_of(cast(self.builder, value, kind))
        for field, pointer in zip(fields, self._stack_slots[name], strict=True):
            self.builder.store(field, pointer)

    def _give(self, target: ast.AST, value: Any) -> None:
        if isinstance(target, ast.Name):
            self._assign(target.id, value)
            return
        value = materialized(value)
        if not isinstance(target, ast.Tuple) or not isinstance(value, Record):
            raise NotPlainError("an assignment to what is no variable")
        for each, item in zip(target.elts, value.items, strict=True):
            self._give(each, item)

    def _on_assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        for target in node.targets:
            self._give(target, value)

    def _on_annassign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._give(node.target, self.value(node.value))

    def _on_augassign(self, node: ast.AugAssign) -> None:
        if not isinstance(node.target, ast.Name):
            raise NotPlainError("a change of what is no variable")
        name = ast.Name(node.target.id, ast.Load())
        self._give(node.target, self.value(ast.BinOp(name, node.op, node.value)))

    def _on_expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.value(node.value)

    def _on_pass(self, node: ast.Pass) -> None:
        pass

    # --- branches ----------------------------------------------------------------------------------------------

    def _go(self, block: Any) -> None:
        if not self.builder.block.is_terminated:
            self.builder.branch(block)
            self._reached.add(block)

    def _on_if(self, node: ast.If) -> None:
        is_complex = self._asked_for_complex(node.test)
        if is_complex is not None:
            self.block(node.body if is_complex else node.orelse)
            return
        condition = self.truth(node.test)
        yes, no, after = (self.builder.append_basic_block() for _ in range(3))
        self.builder.cbranch(condition, yes, no)
        for block, body in ((yes, node.body), (no, node.orelse)):
            self.builder.position_at_end(block)
            self.block(body)
            self._go(after)
        self._continue_in(after)

    def _asked_for_complex(self, test: ast.AST) -> bool | None:
        """Return the answer to ``np.iscomplexobj``, which types give; `None` for other conditions."""
        if isinstance(test, ast.Call) and self.value(test.func) == Constant(np.iscomplexobj):
            return values.is_complex(self.number(test.args[0]))
        return None

    def _continue_in(self, block: Any) -> None:
        """Go on in a block, if anything goes there."""
        self.builder.position_at_end(block)
        if block not in self._reached:
            self.builder.unreachable()

    def _on_while(self, node: ast.While) -> None:
        if node.orelse:
            raise NotPlainError("a loop with an else")
        head, body, after = (self.builder.append_basic_block() for _ in range(3))
        self.builder.branch(head)
        self.builder.position_at_end(head)
        if isinstance(node.test, ast.Constant) and node.test.value:
            self.builder.branch(body)
        else:
            self.builder.cbranch(self.truth(node.test), body, after)
            self._reached.add(after)
        self._loop_over(body, node.body, head, after)
        self._go(head)
        self._continue_in(after)

    def _loop_over(self, block: Any, body: list[ast.stmt], again: Any, after: Any) -> None:
        """Emit the body of a loop in a block, whose end is left open."""
        self.builder.position_at_end(block)
        self._loops.append((again, after))
        self.block(body)
        self._loops.pop()

    def _on_break(self, node: ast.Break) -> None:
        self._go(self._loops[-1][1])

    def _on_continue(self, node: ast.Continue) -> None:
        self._go(self._loops[-1][0])

    def _on_for(self, node: ast.For) -> None:
        if node.orelse:
            raise NotPlainError("a loop with an else")
        called = node.iter.func if isinstance(node.iter, ast.Call) else None
        if isinstance(called, ast.Name) and self.read(called.id) == Constant(range):
            self._for_range(node, node.iter.args)  # type: ignore[attr-defined]
        else:
            self._for_items(node, materialized(self.value(node.iter)))

    def _for_range(self, node: ast.For, limits: list[ast.expr]) -> None:
        builder, step = self.builder, self._step(limits)
        numbers = [cast(builder, self.number(limit), I64) for limit in limits[:2]]
        start, stop = numbers if len(numbers) == 2 else (I64(0), numbers[0])
        with builder.goto_block(self._entry):
            pointer = builder.alloca(I64)
        builder.store(start, pointer)
        head, body, onwards, after = (builder.append_basic_block() for _ in range(4))
        builder.branch(head)
        builder.position_at_end(head)
        k = builder.load(pointer)
        builder.cbranch(self._goes_on(k, stop, step), body, after)
        self._reached.add(after)
        builder.position_at_end(body)
        self._give(node.target, k)
        self._loop_over(builder.block, node.body, onwards, after)
        self._go(onwards)
        builder.position_at_end(onwards)
        builder.store(builder.add(builder.load(pointer), step), pointer)
        builder.branch(head)
        builder.position_at_end(after)

    def _step(self, limits: list[ast.expr]) -> Any:
        return cast(self.builder, self.number(limits[2]), I64) if len(limits) == 3 else I64(1)

    def _goes_on(self, k: Any, stop: Any, step: Any) -> Any:
        """Emit whether a number of a range is before its end."""
        ascends = self.builder.icmp_signed("<", k, stop)
        if isinstance(step, ir.Constant) and step.constant > 0:
            return ascends
        descends = self.builder.icmp_signed(">", k, stop)
        return self.builder.select(self.builder.icmp_signed(">", step, I64(0)), ascends, descends)

    def _for_items(self, node: ast.For, items: Any) -> None:
        """Unroll a loop over the items of a tuple, of which there are few."""
        if not isinstance(items, Record):
            raise NotPlainError("a loop over what is no tuple")
        after = self.builder.append_basic_block()
        for item in items.items:
            self._give(node.target, item)
            onwards = self.builder.append_basic_block()
            self._loop_over(self.builder.block, node.body, onwards, after)
            self._go(onwards)
            self._continue_in(onwards)
            if self.builder.block.is_terminated:
                break
        self._go(after)
        self._continue_in(after)

    def _on_return(self, node: ast.Return) -> None:
        self._leave(None if node.value is None else materialized(self.value(node.value)))

    def _leave(self, value: Any) -> None:
        kind = self._kinds.note_result(kind_of(value))
        if kind is None:
            self.builder.ret_void()
        elif not isinstance(kind, values.RecordType):
            self.builder.ret(cast(self.builder, value, kind))
        else:
            whole = ir.Constant(ir.LiteralStructType(list(values.fields_of(kind))), ir.Undefined)
            for k, field in enumerate(values.fields_of(cast(self.builder, value, kind))):
                whole = self.builder.insert_value(whole, field, k)
            self.builder.ret(whole)
