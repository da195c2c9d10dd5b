"""A handful of ops for tests of the IR alone: the interface of ``umiak.ops.base`` without its dispatch."""

from __future__ import annotations

from typing import Any, ClassVar

from umiak.core.dtype import convert
from umiak.ir import sym as dim
from umiak.ir.meta import Meta

F32 = convert("float32")
I64 = convert("int64")
BOOL = convert("bool")

REGISTRY: dict[str, type[Toy]] = {}


class Toy:
    name: ClassVar[str]
    fields: ClassVar[tuple[str, ...]] = ()
    effect: ClassVar[str | None] = None
    view: ClassVar[bool] = False
    random: ClassVar[bool] = False
    _table: ClassVar[dict]
    attributes: dict[str, Any]

    def __init_subclass__(cls) -> None:
        cls.name = cls.__name__.lower()
        cls._table = {}
        REGISTRY[cls.name] = cls

    def __new__(cls, **attributes: Any) -> Any:
        if set(attributes) != set(cls.fields):
            raise TypeError(f"[{cls.name}] has the attributes {cls.fields}, got {tuple(attributes)}")
        key = tuple((type(attributes[f]), attributes[f]) for f in cls.fields)
        found = cls._table.get(key)
        if found is None:
            found = cls._table[key] = super().__new__(cls)
            found.attributes = {f: attributes[f] for f in cls.fields}
            found.__dict__.update(attributes)
        return found


class Elementwise(Toy):
    def infer(self, *xs: Any) -> Any:
        tensors = [x for x in xs if x.weak is None]
        shape: tuple = ()
        for x in tensors:
            a, b = (shape, x.shape) if len(shape) >= len(x.shape) else (x.shape, shape)
            head = len(a) - len(b)
            shape = a[:head] + tuple(dim.broadcast(m, n) for m, n in zip(a[head:], b, strict=True))
        return Meta(shape, tensors[0].dtype)


class Add(Elementwise):
    pass


class Mul(Elementwise):
    pass


class Neg(Elementwise):
    pass


class Matmul(Toy):
    fields = ("transpose_x",)

    def infer(self, x: Any, y: Any) -> Any:
        rows, inner = (x.shape[1], x.shape[0]) if self.transpose_x else x.shape
        dim.require(inner == y.shape[0], f"[matmul] inner sizes {inner} and {y.shape[0]}")
        return Meta((rows, y.shape[1]), x.dtype)


class Cast(Toy):
    fields = ("dtype",)

    def infer(self, x: Any) -> Any:
        return Meta(x.shape, self.dtype)


class Slice(Toy):
    fields = ("axes",)
    param_fields: ClassVar[dict] = {"starts": None, "sizes": None}

    def infer(self, x: Any, starts: tuple, sizes: tuple) -> Any:
        shape = list(x.shape)
        for a, start, size in zip(self.axes, starts, sizes, strict=True):
            dim.require(start + size <= shape[a], "inside")
            shape[a] = size
        return Meta(tuple(shape), x.dtype)


class ScatterView(Toy):
    fields = ("region", "mode", "fill")

    def infer(self, base: Any, value: Any, args: tuple) -> Any:
        return base


ScatterView.name = "scatter_view"
REGISTRY["scatter_view"] = REGISTRY.pop("scatterview")


class Scale(Toy):
    def infer(self, x: Any, bias: Any, alpha: Any) -> Any:
        return x


class Topk(Toy):
    fields = ("axis",)

    def infer(self, x: Any, k: Any) -> Any:
        shape = (*x.shape[: self.axis], k, *x.shape[self.axis + 1 :])
        return Meta(shape, x.dtype), Meta(shape, I64)


class Uniform(Toy):
    random = True

    def infer(self, seed: Any, *shape: Any) -> Any:
        return Meta(shape, F32)


class Send(Toy):
    fields = ("group",)

    @property
    def effect(self) -> str:  # type: ignore[override]
        return f"group:{self.group}"

    def infer(self, x: Any) -> Any:
        return ()


class Cond(Toy):
    def infer(self, p: Any, *xs: Any, regions: Any) -> Any:
        (_, then), (_, other) = regions
        assert [m.shape for m in then] == [m.shape for m in other]
        return tuple(then)
