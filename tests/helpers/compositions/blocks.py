"""Statements with bodies: loops of Python, the library's loops, branches, inner derivatives and maps."""

from collections.abc import Callable, Sequence

import numpy as np

from helpers.compositions.draw import Scope, Unavailable, indented, is_floating


def draw_block(scope: Scope, kind: str) -> bool:
    """Try a block of a kind."""
    try:
        return BLOCKS[kind](scope)
    except Unavailable:
        return False
    except Exception:  # the values of a body do not fit, as on plain arrays
        return False


# --- parts of bodies -----------------------------------------------------------------------------------------------


def updated(body: Scope, name: str) -> str:
    """Return an expression of a body with the shape and dtype of a value, of moderate size after many iterations."""
    old = body.values[name]
    alike = [n for n in body.names if n != name and _is_alike(body.values[n], old)]
    broad = [
        n for n in body.names if n != name and body._fits(n, "a", old) and _broadcasts(body.values[n], old)
    ]
    late = alike[-2:] or broad[-2:] or [name]
    source = str(body.choose([*late, late[-1]]))
    if np.iscomplexobj(old):
        return str(body.choose([f"{name} * 0.5 + 0.3 * {source}", f"0.6 * ({name} - 0.4 * {source})"]))
    return str(
        body.choose(
            [
                f"np.tanh({source} + 0.5 * {name})",
                f"0.5 * {name} + 0.3 * np.sin({source})",
                f"np.sin({source}) + 0.2 * {name}",
                f"0.6 * {name} + 0.1 * {source}",
            ]
        )
    )


def _is_alike(value: object, old: np.ndarray) -> bool:
    return is_floating(value) and np.shape(value) == np.shape(old) and np.asarray(value).dtype == old.dtype


def _broadcasts(value: np.ndarray, old: np.ndarray) -> bool:
    same = np.broadcast_shapes(np.shape(value), np.shape(old)) == np.shape(old)
    return same and np.result_type(value, old) == old.dtype


def draw_branch(scope: Scope, prefer: Sequence[str] = (), asked: Sequence[str] = ()) -> bool:
    """Draw an `if` on a value, near to what it is, that binds a name anew.

    Parameters
    ----------
    prefer
        Names that are rather bound than others.
    asked
        Names whose values are rather asked than others.
    """
    numbers = [
        n
        for n in (*asked, *asked, *scope.names)
        if is_floating(scope.values[n]) and not np.iscomplexobj(scope.values[n])
    ]
    asked = str(scope.choose(numbers))
    value = scope.values[asked]
    test = (
        asked
        if np.ndim(value) == 0
        else scope.choose([f"np.sum({asked})", f"{asked}.ravel()[0]", f"np.max({asked})"])
    )
    threshold = float(eval(test, scope.values)) + float(scope.rng.choice([-0.3, -0.05, 0.05, 0.3]))
    own = [n for n in scope.names if n not in scope.fixed]
    changed = str(scope.choose(prefer if prefer and scope.rng.random() < 0.5 else [*prefer, *own]))
    lines = [
        f"if {test} {scope.choose(['>', '<'])} {threshold:.2f}:",
        f"    {changed} = {updated(scope, changed)}",
    ]
    if scope.rng.random() < 0.4:
        lines += ["else:", f"    {changed} = {updated(scope, changed)}"]
    if scope.rng.random() < 0.3 and changed in scope.writable:
        lines[1] = f"    {changed}[{scope._part(None)}] = {scope.operand('s')}"
    return scope.attempt("\n".join(lines))


def draw_body(
    scope: Scope, prefix: str, names: Sequence[str], state: Sequence[str], can_write: bool = False
) -> Scope:
    """Draw statements of a body; perhaps a value that goes into the state, and then an `if` on what iterations change.

    Iterations take both branches where the threshold is among the values.
    """
    outer = [n for n in scope.names if n not in names]
    shared = [str(scope.choose(outer)) for _ in range(2)] if outer and scope.rng.random() < 0.7 else []
    body = scope.child(prefix, [*dict.fromkeys(shared), *names], state if can_write else ())
    body.draw(int(scope.rng.integers(1, 4)))
    if can_write:
        name = str(scope.choose(state))
        part = body._key(body.values[name])
        body.attempt(
            f"{name}[{part}] = np.sin({body.operand('y', eval(f'{name}[{part}]', body.values))}) * 0.7"
        )
    if scope.rng.random() < (0.25 if can_write else 0.5):
        state_name = str(scope.choose(state))
        if scope.rng.random() < 0.5:
            shared_name = scope.name()
            body.attempt(f"{shared_name} = {updated(body, state_name)}", [shared_name])
        if scope.rng.random() < 0.7:
            body.attempt(f"{state_name} = {updated(body, state_name)}")
        draw_branch(body, state, scope.choose([names, state]))
    return body


def chosen_output(body: Scope) -> str:
    """Return a name of a body, often the last: it may have gone into the state."""
    return body.names[-1] if body.rng.random() < 0.4 else str(body.choose(body.names))


# --- loops of Python -----------------------------------------------------------------------------------------------


def _sequence(scope: Scope, times: int) -> str:
    """Return an array with an element for each of some iterations."""
    name, source = scope.name(), scope.operand("v")
    if not scope.attempt(f"{name} = np.tile({source}, {times})[:{times}]", [name]):
        raise Unavailable(source)
    return name


def loop(scope: Scope) -> bool:
    """Draw a `for` loop that carries a state, may write into it, and carries a number or gathers results, too."""
    times = int(scope.rng.integers(8, 12))
    state, source, init = (
        scope.name(),
        _sequence(scope, times),
        scope.operand(str(scope.choose(["s", "v", "x"]))),
    )
    element, writes = scope.name("e"), scope.rng.random() < 0.7
    can_write = writes and np.ndim(eval(init, scope.values)) > 0
    prefix = f"{state} = {scope.choose(['np.copy({})', '{} * 1.0']) if can_write else '{} * 1.0'}".format(
        init
    )
    inside = f"{element} = {source}[i] * 1.0"
    body = draw_body(scope, f"{prefix}\ni = 1\n{inside}", [state, element], [state], can_write)
    inner = [inside, *body.lines]
    if not can_write or scope.rng.random() < 0.3:
        inner.append(f"{state} = {updated(body, state)}")
    head = f"for i in range({times}):"
    own = [name for name in body.names if name not in body.fixed]  # what the last iteration leaves
    if can_write and scope.rng.random() < 0.6:
        number = scope.name()
        added = scope.choose([element, f"{state}.ravel()[0]"])
        inner.insert(int(scope.choose([1, len(inner)])), f"{number} = np.sin({added}) + 0.5 * {number}")
        begin = f"{number} = {scope.choose(['0.0', '0.0', '1.0', scope.operand('s') + ' * 1.0'])}"
        return scope.attempt("\n".join([prefix, begin, head, *indented(inner)]), [state, number])
    if own and scope.rng.random() < 0.25:
        return scope.attempt("\n".join([prefix, head, *indented(inner)]), [state, str(scope.choose(own))])
    return _gathered(scope, body, [prefix, head, *indented(inner)], state, times)


def _gathered(scope: Scope, body: Scope, lines: Sequence[str], state: str, times: int) -> bool:
    """Draw a loop that gathers a result of each iteration: they are stacked, or one of two is written to."""
    outs, made = scope.name("o"), [scope.name(), scope.name()]
    own = [name for name in body.names if name not in body.fixed]
    arrays = [name for name in own if np.ndim(body.values[name])]
    output = str(scope.choose(arrays)) if arrays and scope.rng.random() < 0.5 else chosen_output(body)
    lines = [f"{outs} = []", *lines, f"    {outs}.append({output}{scope.choose(['', '', '', ' * 1.0'])})"]
    if np.ndim(body.values[output]) and output in (state, *own) and scope.rng.random() < 0.75:
        first = int(scope.rng.integers(times - 1))
        lines += [f"{name} = {outs}[{first + k}]" for k, name in enumerate(made)]
        part = f"{made[0]}[{body._key(body.values[output])}]"
        lines.append(f"{part} {scope.choose(['=', '=', '*='])} {scope.operand('s')}")
        if scope.rng.random() < 0.7:  # the last state may be read nowhere
            return scope.attempt("\n".join(lines), [*scope.choose([[], [state]]), *made])
    return scope.attempt("\n".join([*lines, f"{made[0]} = np.stack({outs})"]), [state, made[0]])


def recurrence(scope: Scope) -> bool:
    """Draw a loop that fills an array, each element from one before."""
    times, lag = int(scope.rng.integers(8, 12)), int(scope.choose([1, 1, 2]))
    array, element, source = scope.name(), scope.name("e"), _sequence(scope, times)
    begin = f"{array} = np.stack([{scope.operand(str(scope.choose(['s', 'v'])))}] * {times + 1}) * 0.5"
    inside = f"{element} = {array}[i - {lag}] + {source}[i]"
    body = draw_body(scope, f"{begin}\ni = {lag}\n{inside}", [element], [element])
    lines = [begin, f"for i in range({lag}, {times}):", *indented([inside, *body.lines])]
    written = scope.choose(["i", "i", "i", "i + 1", f"{times} - i"])
    lines += indented([f"{array}[{written}] {scope.choose(['=', '=', '+='])} {updated(body, element)}"])
    return scope.attempt("\n".join(lines), [array])


# --- the library's loops -------------------------------------------------------------------------------------------


def scan(scope: Scope) -> bool:
    """Draw a `scan` over an array."""
    carry, element, name = scope.name("c"), scope.name("e"), scope.name("f")
    source = _sequence(scope, int(scope.choose([8, 18]))) if scope.rng.random() < 0.6 else scope.operand("v")
    init = scope.operand(str(scope.choose(["s", "s", "v", "x", "a"])))
    body = draw_body(scope, f"{carry} = {init}\n{element} = {source}[0]", [carry, element], [carry])
    output = chosen_output(body)
    lines = [
        f"def {name}({carry}, {element}):",
        *indented(body.lines),
        f"    return {updated(body, carry)}, {output}",
    ]
    last, stacked = scope.name(), scope.name()
    backwards = scope.choose(["", "", ", reverse=True"])
    return scope.attempt(
        "\n".join([*lines, f"{last}, {stacked} = scan({name}, {init}, {source}{backwards})"]), [last, stacked]
    )


def scan_of_two(scope: Scope) -> bool:
    """Draw a `scan` whose carry is a pair."""
    first, second, element, name = scope.name("c"), scope.name("c"), scope.name("e"), scope.name("f")
    source, init, other = scope.operand("v"), scope.operand("s"), scope.operand("v")
    prefix = f"{first} = {init}\n{second} = {other}\n{element} = {source}[0]"
    body = draw_body(scope, prefix, [first, second, element], [first, second])
    lines = [f"def {name}(c, {element}):", f"    {first}, {second} = c", *indented(body.lines)]
    lines += [f"    return ({updated(body, first)}, {updated(body, second)}), {chosen_output(body)}"]
    news = [scope.name() for _ in range(3)]
    call = f"({news[0]}, {news[1]}), {news[2]} = scan({name}, ({init}, {other}), {source})"
    return scope.attempt("\n".join([*lines, call]), news)


def fori(scope: Scope) -> bool:
    """Draw a `fori_loop`."""
    state, name, last = scope.name("c"), scope.name("f"), scope.name()
    init = scope.operand(str(scope.choose(["s", "v", "x", "a"])))
    body = draw_body(scope, f"i = 1\n{state} = {init}", [state], [state])
    lines = [f"def {name}(i, {state}):", *indented(body.lines), f"    return {updated(body, state)}"]
    return scope.attempt(
        "\n".join([*lines, f"{last} = fori_loop(0, {scope.rng.integers(3, 7)}, {name}, {init})"]), [last]
    )


def while_loop(scope: Scope) -> bool:
    """Draw a `while_loop` that ends by a count that grows, or by a value that shrinks."""
    state, name, last, count = scope.name("c"), scope.name("f"), scope.name(), scope.name()
    init = scope.operand(str(scope.choose(["s", "v"])))
    body = draw_body(scope, f"n = 1.0\n{state} = {init}", [state], [state])
    lines = [f"def {name}(c):", f"    n, {state} = c", *indented(body.lines)]
    lines += [f"    return n + 1.0, {updated(body, state)}"]
    call = (
        f"{count}, {last} = while_loop(lambda c: c[0] < {scope.rng.integers(3, 7)}.5, {name}, (0.0, {init}))"
    )
    return scope.attempt("\n".join([*lines, call]), [last])


def cond(scope: Scope) -> bool:
    """Draw a `cond` whose branches are bodies, and close over what is around."""
    operand, name, last = scope.operand(str(scope.choose(["s", "v", "x"]))), scope.name("c"), scope.name()
    lines, functions = list[str](), [scope.name("f"), scope.name("f")]
    for function in functions:
        body = draw_body(scope, f"{name} = {operand}", [name], [name])
        lines += [f"def {function}({name}):", *indented(body.lines), f"    return {updated(body, name)}"]
    test = f"{scope.operand('s')} > {scope.number()}"
    return scope.attempt(
        "\n".join([*lines, f"{last} = cond({test}, {', '.join(functions)}, {operand})"]), [last]
    )


# --- inner functions -----------------------------------------------------------------------------------------------


def _inner(scope: Scope, argument: str, sample: str, is_number: bool) -> tuple[str, list[str]]:
    """Return the name of an inner function of one array, and the lines that define it."""
    function = scope.name("f")
    body = draw_body(scope, f"{argument} = {sample}", [argument], [argument])
    result = updated(body, argument)
    result = f"np.sum({result})" if is_number else result
    return function, [f"def {function}({argument}):", *indented(body.lines), f"    return {result}"]


def inner_derivative(scope: Scope) -> bool:
    """Draw a derivative of an inner function."""
    argument, last = scope.name("c"), scope.name()
    point = f"{scope.operand('v')}[:3]" if scope.rng.random() < 0.7 else scope.operand("s")
    kind = scope.choose(["grad", "jvp", "hvp", "jvp"])
    function, lines = _inner(scope, argument, point, kind != "jvp")
    direction = f"np.cos({point})"
    call = {
        "grad": f"grad({function})({point})",
        "jvp": f"jvp({function}, ({point},), ({direction},))[1]",
        "hvp": f"hvp({function})({point}, {direction})",
    }[kind]
    return scope.attempt("\n".join([*lines, f"{last} = {call}"]), [last])


def inner_map(scope: Scope) -> bool:
    """Draw a `vmap` of an inner function, or of its gradient."""
    argument, last, source = scope.name("c"), scope.name(), scope.operand(str(scope.choose(["t", "v"])))
    is_gradient = scope.rng.random() < 0.4
    function, lines = _inner(scope, argument, f"{source}[0] * 1.0", is_gradient)
    mapped = f"vmap(grad({function}))" if is_gradient else f"vmap({function})"
    return scope.attempt("\n".join([*lines, f"{last} = {mapped}({source})"]), [last])


BLOCKS: dict[str, Callable[[Scope], bool]] = {
    "loop": loop, "recurrence": recurrence, "scan": scan, "scan_of_two": scan_of_two, "fori": fori, "while": while_loop,
    "cond": cond, "branch": draw_branch, "inner_derivative": inner_derivative, "inner_map": inner_map,
}  # fmt: skip
