"""Programs as pictures: a box for each operation with its types, arrows for values, regions as boxes inside."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from umiak.ir.printer import Printer, show_attribute, show_meta, show_param, show_symbol
from umiak.ir.program import Block, Operation, Program, Value, defined
from umiak.util.layered import Layout, Node, layout
from umiak.util.svg import LINE, SIZE, Canvas, Look, shortened, text_width

MOST_CHARACTERS = 44  # of a line in a box
_SMALL_TEXT = 10.5
_PAD = 8.0

_LOOKS = {
    "input": Look("#e4eefb", "#5a83b8", 9),
    "parameter": Look("#e5f3e6", "#5c9b62", 9),
    "operation": Look("#ffffff", "#5b6573"),
    "product": Look("#fdefdc", "#c1832f"),  # the calls that most of the time goes to
    "region": Look("#f5f6f8", "#9aa3af", 6, "5 3"),
    "end": Look("#ece6f6", "#7c63ad", 9),
}
_LEGEND = ("input", "parameter", "operation", "product", "region", "end")
_NAMES = {"product": "matmul, convolution, attention", "end": "result, write", "region": "branch, loop body"}
_PRODUCTS = ("matmul", "conv", "attention", "linear")


@dataclass
class _Box:
    """The box of an operation, an input or an end. ``head`` is set bold, ``body`` small."""

    kind: str
    head: str
    body: list[str]
    identity: str
    tip: str
    reads: list[Value] = field(default_factory=list)
    makes: Sequence[Value] = ()
    inside: list[_Picture] = field(default_factory=list)
    node: Node = field(default_factory=lambda: Node(0, 0))

    def measure(self) -> None:
        """Find the size."""
        texts = [text_width(self.head), *(text_width(line, _SMALL_TEXT) for line in self.body)]
        width = max(texts) + 2 * _PAD
        height = SIZE * LINE + len(self.body) * _SMALL_TEXT * LINE + 2 * _PAD - 4
        if self.inside:
            width = max(width, sum(p.width + _PAD for p in self.inside) + _PAD)
            height += max(p.height for p in self.inside) + _PAD
        self.node.width, self.node.height = width, height


@dataclass
class _Picture:
    """A block: boxes, edges between them, and where they are."""

    caption: str
    boxes: list[_Box]
    edges: list[tuple[int, int, int, int]]  # from and to, the result's number, and which of the operands
    laid_out: Layout

    @property
    def width(self) -> float:
        return max(self.laid_out.width, text_width(self.caption, _SMALL_TEXT)) + 2 * _PAD

    @property
    def height(self) -> float:
        return self.laid_out.height + 2 * _PAD + (_SMALL_TEXT * LINE + 4 if self.caption else 0)


def program_svg(program: Program) -> str:
    """The program as SVG. Values have the numbers of ``program.canonical()``.

    A viewer shows an operation's full text above its box. Boxes have an ``id``, arrows ``data-from`` and ``data-to``.
    """
    maker = _Maker(program)
    picture = maker.block(program.body, "", maker.ends(program))
    canvas = Canvas()
    y = canvas.lines(16, 12, [program.name or "program"], 15, bold=True) + 2
    y = canvas.lines(16, y, _summary(program), _SMALL_TEXT, "#4a5361") + 8
    _legend(canvas, 16, y)
    _draw(canvas, picture, 16 - _PAD, y + 26)
    return canvas.render()


def _summary(program: Program) -> Iterator[str]:
    count = sum(1 for _ in program.walk())
    counts = (count, "operation"), (len(program.inputs), "input"), (len(program.outputs), "result")
    yield ", ".join(f"{n} {word}{'' if n == 1 else 's'}" for n, word in counts)
    for symbol in program.symbols:
        yield shortened(f"number {show_symbol(symbol)}", 100)
    for guard in program.guards:
        yield shortened(f"guard {show_param(guard)}", 100)
    for check in program.checks:
        yield shortened(f"check {show_param(check.condition)}", 100)


def _legend(canvas: Canvas, x: float, y: float) -> None:
    for kind in _LEGEND:
        canvas.box(x, y, 12, 12, _LOOKS[kind])
        name = _NAMES.get(kind, kind)
        canvas.text(x + 18, y + 10, name, _SMALL_TEXT, "#4a5361")
        x += 18 + text_width(name, _SMALL_TEXT) + 16


class _Maker:
    """Boxes of blocks."""

    def __init__(self, program: Program) -> None:
        numbers = {id(v): n for n, v in enumerate(defined(program.body))}
        self.printer = Printer(lambda v: numbers[id(v)])
        self.names = {id(v): n for n, v in program.constants.items()}
        self.count = 0

    def ends(self, program: Program) -> list[_Box]:
        """The results and the final writes."""
        boxes = self.end("return", program.outputs)
        for write in program.effects:
            target = self.printer.operand(write.target)
            value = [write.value] if type(write.value) is Value else []
            tip = f"write {target} <- {self.printer.operand(write.value)}"
            boxes.append(
                _Box("end", f"write {target}", [self.printer.operand(write.value)], self.identity(), tip, value)
            )
        return boxes

    def end(self, word: str, outputs: Sequence) -> list[_Box]:
        if not outputs:
            return []
        text = f"{word} {self.printer.operands(outputs)}"
        reads = [x for x in outputs if type(x) is Value]
        return [_Box("end", shortened(text, MOST_CHARACTERS), [], self.identity(), text, reads)]

    def identity(self) -> str:
        self.count += 1
        return f"n{self.count}"

    def block(self, block: Block, caption: str, ends: list[_Box]) -> _Picture:
        """A block as a picture; ``ends`` come last."""
        boxes = [self.argument(v) for v in block.arguments]
        boxes += [self.operation(o) for o in block.operations]
        boxes += ends
        made: dict[int, tuple[int, int]] = {}
        edges = []
        for i, box in enumerate(boxes):
            for k, v in enumerate(box.reads):
                if id(v) in made:
                    at, which = made[id(v)]
                    edges.append((at, i, which, k))
            made.update({id(v): (i, n) for n, v in enumerate(box.makes)})
            box.measure()
        read = {a for a, *_ in edges}
        for i, box in enumerate(boxes):
            box.node.late = i in read and box.kind in ("input", "parameter")
        placed = layout([b.node for b in boxes], [(a, b) for a, b, *_ in edges])
        return _Picture(caption, boxes, edges, placed)

    def argument(self, v: Value) -> _Box:
        name = self.names.get(id(v))
        text = self.printer.declaration(v)
        return _Box(
            "input" if name is None else "parameter",
            self.printer.operand(v) + ("" if name is None else f" = {shortened(name, 30)}"),
            [shortened(show_meta(v.meta), MOST_CHARACTERS)],
            self.identity(),
            text,
            makes=[v],
        )

    def operation(self, o: Operation) -> _Box:
        results = self.printer.operands(o.results)
        head = shortened(f"{results} = {o.name}" if o.results else o.name, MOST_CHARACTERS)
        box = _Box(
            "product" if o.name.startswith(_PRODUCTS) else "operation",
            head,
            list(self.details(o)),
            self.identity(),
            self.printer.operation(o)[0].rstrip(" ["),
            list(o.values),
            o.results,
        )
        for n, region in enumerate(o.regions):
            caption = _caption(o, n)
            box.inside.append(self.block(region, caption, self.end("yield", region.outputs)))
        return box

    def details(self, o: Operation) -> Iterator[str]:
        """Lines of a box below the name: numbers among the operands, params and attributes, types."""
        numbers = [x for x in o.operands if type(x) is not Value]
        if any(x is not None for x in numbers):
            yield shortened(f"({self.printer.operands(o.operands)})", MOST_CHARACTERS)
        names = list(getattr(o.op, "param_fields", ()))
        params = [f"{n}={show_param(p)}" for n, p in zip(names, o.params, strict=False)]
        attributes = [f"{k}={show_attribute(v)}" for k, v in o.attributes.items()]
        yield from _wrapped([*attributes, *params])
        for r in o.results:
            text = show_meta(r.meta) + (" stop" if r.stop else "")
            yield shortened(text if len(o.results) == 1 else f"{self.printer.operand(r)}: {text}", MOST_CHARACTERS)


def _wrapped(words: Sequence[str], most: int = 3) -> Iterator[str]:
    """Words in lines, the first few of them."""
    lines: list[str] = []
    for word in words:
        word = shortened(word, MOST_CHARACTERS - 2)
        if lines and len(lines[-1]) + len(word) + 2 <= MOST_CHARACTERS:
            lines[-1] += f", {word}"
        else:
            lines.append(word)
    if len(lines) > most:
        lines[most - 1 :] = [shortened(lines[most - 1], MOST_CHARACTERS - 2) + " …"]
    yield from lines


_CAPTIONS: dict[str, Callable[[int], str]] = {
    "cond": lambda n: ("if true", "if false")[n],
    "while_": lambda n: ("condition", "body")[n],
    "scan": lambda n: "body",
}


def _caption(o: Operation, n: int) -> str:
    named = _CAPTIONS.get(o.name)
    return named(n) if named is not None else f"region {n}"


# --- canvas


def _draw(canvas: Canvas, picture: _Picture, x: float, y: float) -> None:
    """A block with its upper left corner at a point; boxes above lines."""
    x, y = x + _PAD, y + _PAD
    if picture.caption:
        canvas.text(x, y + _SMALL_TEXT, picture.caption, _SMALL_TEXT, "#4a5361", bold=True)
        y += _SMALL_TEXT * LINE + 4
    for (a, b, which, k), route in zip(picture.edges, picture.laid_out.routes, strict=True):
        _edge(canvas, picture.boxes[a], picture.boxes[b], which, k, route, x, y)
    for box in picture.boxes:
        _box(canvas, box, x, y)


def _edge(
    canvas: Canvas, a: _Box, b: _Box, which: int, k: int, route: Sequence[tuple[float, float]], x: float, y: float
) -> None:
    source, target = a.node, b.node
    leaves = source.x + source.width * (which + 1) / (len(a.makes) + 1)
    arrives = target.x + target.width * (k + 1) / (len(b.reads) + 1)
    (_, bottom), *between = route
    points = [(leaves, source.y + source.height), (leaves, bottom), *between, (arrives, target.y)]
    canvas.curve(
        [(x + px, y + py) for px, py in points],
        Look(stroke="#5b6573"),
        class_="edge", data_from=a.identity, data_to=b.identity,
    )  # fmt: skip


def _box(canvas: Canvas, box: _Box, x: float, y: float) -> None:
    node = box.node
    left, top = x + node.x, y + node.y
    canvas.open(id=box.identity, class_=box.kind)
    canvas.title(box.tip)
    canvas.box(left, top, node.width, node.height, _LOOKS[box.kind])
    at = canvas.lines(left + _PAD, top + _PAD - 3, [box.head], SIZE, bold=True)
    at = canvas.lines(left + _PAD, at, box.body, _SMALL_TEXT, "#4a5361")
    inner = left + _PAD
    for picture in box.inside:
        canvas.box(inner, at + 2, picture.width, picture.height, _LOOKS["region"])
        _draw(canvas, picture, inner, at + 2)
        inner += picture.width + _PAD
    canvas.close()
