"""Base of ops: one frozen class per op, which every consumer reads.

A subclass of :class:`Op` declares operands (``inputs``), static attributes (annotated fields) and params
(fields set to :func:`param`). Static attributes select code and are part of the identity of the op; params are
scalars that travel beside it and never cause a new instance, cache entry or compile.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from umiak.core import eager, plan
from umiak.ir.expr import NumberUnknown, Sym
from umiak.ir.registry import REGISTRY, enter
from umiak.util.errors import op_error


class _Missing:
    def __repr__(self) -> str:
        return "<required>"


MISSING: Any = _Missing()


class Param(NamedTuple):
    """Declaration of a run-time scalar of an op.

    ``kind`` is ``"float"``, ``"int"``, or ``"floats"`` or ``"ints"``: a tuple of them, whose length belongs to the
    class of the call.
    """

    kind: str = "float"
    default: Any = MISSING

    @property
    def several(self) -> bool:
        return self.kind in ("ints", "floats")

    @property
    def each(self) -> str:
        """The kind of a number."""
        return "float" if self.kind in ("float", "floats") else "int"


def param(kind: str = "float", default: Any = MISSING) -> Any:
    """Declare a param: ``eps: float = param(default=1e-5)``, ``starts: tuple = param("ints")``."""
    return Param(kind, default)


@dataclass(frozen=True, eq=False)
class Sample:
    """One call that the generated tests make. ``inputs`` are arrays, Python scalars or None."""

    inputs: tuple
    attrs: dict = field(default_factory=dict)
    params: dict = field(default_factory=dict)
    differentiable: tuple[int, ...] | None = None  # default: every floating or complex array
    note: str = ""


@dataclass(frozen=True)
class Box:
    """A part of a tensor of shape ``global_shape``: so many elements of each dim from ``starts`` on."""

    starts: tuple
    sizes: tuple
    global_shape: tuple


@dataclass(frozen=True)
class LocalShard:
    """Shard of a call that one rank computes: the boxes of its operands (None for scalars and absent ones) and of its
    results, and for each sharded factor the index of the shard."""

    operands: tuple[Box | None, ...]
    results: tuple[Box, ...]
    indices: Mapping[str, int]

    def is_first(self, *factors: str) -> bool:
        """Return whether this is the first shard along all of the factors: it adds what must be added once."""
        return not any(self.indices.get(f) for f in factors)


class Saved:
    """Values of the forward call that ``vjp`` may read."""

    __slots__ = ("inputs", "needs", "outputs", "params", "residuals")

    def __init__(self, inputs: tuple, outputs: tuple, residuals: tuple, params: Any, needs: tuple[bool, ...]) -> None:
        self.inputs = inputs
        self.outputs = outputs
        self.residuals = residuals
        self.params = params
        self.needs = needs


FUNCTIONS: dict[str, Callable] = {}  # those made so far, see `function`


def packed_error(op: str, dtype: Any, got: str) -> Exception:
    """Return the error of a computing op for a packed dtype."""
    hint = f"Packed dtypes are for storage: cast to {dtype.carrier.name} first, x.astype('{dtype.carrier.name}')."
    return op_error(TypeError, op, "dtypes of whole bytes", got, hint)


_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")  # where one begins


def snake(name: str) -> str:
    """``LayerNorm`` → ``layer_norm``; a Python keyword gets a trailing underscore."""
    out = _WORDS.sub("_", name).lower()
    return out + "_" if keyword.iskeyword(out) else out


class OpMeta(type(plan.OpBase)):  # type: ignore[misc]
    """Metaclass that collects fields and interns instances: equal static attributes give the same object."""

    def __new__(mcs, name: str, bases: tuple, ns: dict) -> type:
        statics: dict[str, Any] = {}
        params: dict[str, Param] = {}
        for base in reversed(bases):
            statics.update(getattr(base, "static_fields", {}))
            params.update(getattr(base, "param_fields", {}))
        for key, annotation in ns.get("__annotations__", {}).items():
            if str(annotation).startswith(("ClassVar", "typing.ClassVar")):
                continue
            value = ns.pop(key, MISSING)
            if isinstance(value, Param):
                params[key] = value
            else:
                statics[key] = value
        ns["static_fields"] = statics
        ns["param_fields"] = params
        cls = super().__new__(mcs, name, bases, ns)
        cls._instances = {}
        cls.name = snake(name)
        return cls

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        fields = cls.static_fields
        if args:
            if len(args) > len(fields):
                raise TypeError(f"[{cls.name}] takes {len(fields)} attributes {tuple(fields)}, got {len(args)}")
            kwargs.update(zip(fields, args, strict=False))
        values = []
        for key, default in fields.items():
            value = kwargs.pop(key, default)
            if value is MISSING:
                raise TypeError(f"[{cls.name}] requires attribute {key!r}")
            if isinstance(value, list):
                value = tuple(value)
            unknown = value if type(value) is Sym else None
            if type(value) is tuple:
                unknown = next((x for x in value if type(x) is Sym), None)
            if unknown is not None:  # static attributes select code
                raise NumberUnknown(unknown, f"[{cls.name}] requires a fixed number as {key}, got {value}")
            values.append(value)
        if kwargs:
            raise TypeError(f"[{cls.name}] has no attribute {', '.join(map(repr, kwargs))}; it has {tuple(fields)}")
        ident = tuple(values)
        # 1, True and 1.0 are equal as dict keys but are different attributes.
        key = (ident, tuple(map(type, ident)))
        op = cls._instances.get(key)
        if op is None:
            op = cls.__new__(cls)
            for name, value in zip(fields, ident, strict=True):
                object.__setattr__(op, name, value)
            op.attributes = dict(zip(fields, ident, strict=True))
            op.bind()
            op = cls._instances.setdefault(key, op)
        return op


class Op(plan.OpBase, metaclass=OpMeta):
    """Base of every op. See docs/design/ops.md for how to write one."""

    inputs: ClassVar[tuple[str, ...]] = ("x",)
    static_fields: ClassVar[dict[str, Any]]
    param_fields: ClassVar[dict[str, Param]]
    name: ClassVar[str]
    _instances: ClassVar[dict]

    # Properties; lists anywhere else are computed from these.
    elementwise: ClassVar[bool] = False
    # Which operands partial sums, and partial extrema, pass through: True for all together, else groups of names.
    linear: ClassVar[bool | tuple] = False
    monotone: ClassVar[bool | tuple] = False
    view: ClassVar[bool] = False
    entire: ClassVar[bool] = False  # of a view: it has all elements of the operand, in their order
    packed: ClassVar[bool] = False  # takes packed dtypes: it moves, compares or makes elements, and computes nothing
    overwritable: ClassVar[int] = 0  # operands, as bits, whose memory results may take though it is not elementwise
    random: ClassVar[bool] = False
    other_gradient: ClassVar[bool] = False  # gradients flow, by other means than a vjp
    effect: ClassVar[str | None] = None
    amp: ClassVar[str] = "promote"  # "allow" low precision, "deny" it, "promote" mixed operands, "keep" what comes

    # Optional parts of an op.
    decompose: ClassVar[Any] = None
    vjp: ClassVar[Any] = None
    forward_train: ClassVar[Any] = None
    shard: ClassVar[Any] = None
    on_shard: ClassVar[Any] = None
    strides: ClassVar[Any] = None
    variadic_outputs: ClassVar[bool] = False
    # (operands, results) -> int: the products that a call sums up, each with its addition counted once. Whoever counts
    # arithmetic reads it here: `paddle.flops`, the rates of kernels, benchmarks.
    multiply_adds: ClassVar[Any] = None

    if TYPE_CHECKING:
        # The metaclass takes static attributes, by position or by keyword.
        def __init__(self, *attributes: Any, **named: Any) -> None: ...

    def infer(self, *operands: Any) -> Any:
        raise TypeError(f"[{self.name}] defines no infer")

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        return iter(())

    def bind(self) -> None:
        """Fill the C part of the op (called once per interned instance)."""
        self._bind(len(self.inputs), tuple(p.kind for p in self.param_fields.values()))

    def multiple(self, n_outputs: int) -> bool:
        """Return whether a call gives a tuple. Ops with a variable number of outputs give one always."""
        return n_outputs != 1 or self.variadic_outputs

    @property
    def declares_none(self) -> bool:
        """Return whether "no gradient" is written (``vjp = None``), as opposed to left to the decomposition."""
        return self.vjp is None and any(
            "vjp" in cls.__dict__ for cls in type(self).__mro__ if issubclass(cls, Op) and cls is not Op
        )

    def shares(self, dtype: Any) -> bool:
        """Return whether the result of a call on a tensor of ``dtype`` shares its memory. A part of a packed tensor may
        begin within a byte, so there only views of all elements do."""
        return self.view and (self.entire or not dtype.is_packed)

    def refuse_packed(self, metas: Iterable[Any]) -> None:
        """Refuse operands and results of packed dtypes where the op computes."""
        for m in metas:
            if m is not None and m.dtype is not None and m.dtype.is_packed and not self.packed:
                raise packed_error(self.name, m.dtype, m.dtype.name)

    def refuse_absent(self, operands: Iterable[Any]) -> None:
        """Refuse None where an operand is required."""
        for name, x in zip(self.inputs, operands, strict=False):
            if x is None and not name.endswith("?") and not name.startswith("*"):
                self.fail(TypeError, f"a tensor for operand {name!r}", "None")

    def fail(self, kind: type[Exception], required: str, got: Any, hint: str = "") -> Any:
        """Raise ``kind`` in the project's form: op, what was required, what came, what to do."""
        raise op_error(kind, self.name, required, got, hint)

    def __repr__(self) -> str:
        inner = ", ".join(f"{k}={v!r}" for k, v in self.attributes.items())
        return f"{self.name}({inner})"

    def __reduce__(self) -> tuple:
        return (_rebuild, (self.name, tuple(self.attributes.items())))

    def __setattr__(self, key: str, value: Any) -> None:
        if key in self.static_fields:
            raise AttributeError(f"[{self.name}] is frozen: {key!r} cannot be set")
        super().__setattr__(key, value)


def _rebuild(name: str, attributes: tuple) -> Op:
    return REGISTRY[name](**dict(attributes))


def register(cls: type[Op]) -> type[Op]:
    """Enter an op class in the registry. Its strict function is made when it is first asked for."""
    enter(cls)
    return cls


def function(name: str) -> Callable:
    """The strict function of an op: operands, then static attributes, then params."""
    strict = FUNCTIONS.get(name)
    if strict is None:
        strict = FUNCTIONS[name] = _make_function(REGISTRY[name])
    return strict


def _make_function(cls: type[Op]) -> Callable:
    """Write the strict function of an op as source, so that a call costs one dict lookup and one dispatch."""
    operands = [n.rstrip("?").lstrip("*") for n in cls.inputs]
    head, env = [], {"cls": cls, "MISSING": MISSING, "table": {}, "apply": eager.apply}
    defaulted = False
    for raw, n in zip(cls.inputs, operands, strict=True):
        # After an optional operand the others need a default too; dispatch refuses None for them.
        defaulted = defaulted or raw.endswith("?")
        head.append(f"{n}=None" if defaulted and not raw.startswith("*") else n)
    for n, d in [*cls.static_fields.items(), *((k, p.default) for k, p in cls.param_fields.items())]:
        if d is MISSING:
            head.append(f"{n}=MISSING" if defaulted else n)
        else:
            defaulted = True
            env[f"_d_{n}"] = d
            head.append(f"{n}=_d_{n}")
    statics = list(cls.static_fields)
    variadic = cls.inputs[-1].startswith("*") if cls.inputs else False
    ops = ", ".join([*operands[:-1], f"*{operands[-1]}"] if variadic else operands)
    params = "".join(f", {n}" for n in cls.param_fields)
    if statics:
        key = ", ".join(f"{n}, type({n})" for n in statics) + ","
        lookup = (
            f"    try: op = table[({key})]\n"
            f"    except (KeyError, TypeError):\n"
            f"        op = cls({', '.join(statics)})\n"
            f"        try: table[({key})] = op\n"
            f"        except TypeError: pass\n"
        )
    else:
        env["op"] = cls()
        lookup = ""
    call = f"apply(op, ({ops}{',' if ops else ''}){', (' + params[2:] + ',)' if params else ''})"
    source = f"def {cls.name}({', '.join(head)}):\n{lookup}    return {call}\n"
    env["__name__"] = __name__
    exec(compile(source, f"<op {cls.name}>", "exec"), env)
    function = env[cls.name]
    function.__doc__ = cls.__doc__
    function.__module__ = "umiak.ops"
    return function
