"""Properties of a call of attention that the text of its kernels depends on, and the pointers and integers they get."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from umiak.compiler.loop import node as n
from umiak.compiler.loop.node import Node
from umiak.compiler.loop.tiles import ROWS, WARPGROUP
from umiak.compiler.loop.tree import IN, OUT, Buffer
from umiak.compiler.loop.types import BF16, F16, F64, I32, U8, ScalarType
from umiak.ops import dot_product_attention as ops

COLUMNS, BOOLEAN, ADDED = "columns", "boolean", "added"  # kinds of masks
# Integers before the strides. ``shift``: query i sees keys up to ``i + shift``; ``end`` and the like: the column of the
# mask that has it, or -1.
SIZES = (
    "batch", "queries", "heads", "keys", "key_heads", "group", "shift",
    "mask_step", "mask_heads", "heads_per_mask", "end", "second_begin", "second_end",
)  # fmt: skip
EVERY_KEY = 1 << 40  # of ``shift``
RESULT = "result"  # of a forward call
BLOCKS = "kept_blocks"
PATCH = 4  # rows, and columns, that a thread multiplies at once; rows in memory of the block end with a patch
TILES = (64, 32, 16, 8)  # queries, and keys, of a tile; a block of a mask by blocks holds whole ones
LARGEST = 128  # likewise, where four warps multiply together
STEP = 64  # queries or keys that gradients with tensor cores take at once
# Columns of sums beside which there are registers for so many; for half as many.
FEW_SUMS, MOST_SUMS, MOST_SUMS_UNMASKED = 64, 256, 192


@dataclass(frozen=True)
class Form:
    """Types, the sizes that are numbers in the text, and what there is of masks. Others are dims.

    ``inputs``: operands by name, with the type of those that are there.
    """

    inputs: tuple[tuple[str, ScalarType | None], ...]
    outputs: tuple[tuple[str, ScalarType], ...]
    computed: ScalarType
    dim: int
    value_dim: int
    mask: str | None
    dropout: bool
    tile: int = TILES[0]
    shared: bool = True  # tiles lie in memory of the block, else in scratch
    width: int = 1  # elements of a row that may be copied at once
    persistent: bool = True  # blocks claim what they do next; else the grid says what each does
    together: bool = False  # four warps of the device multiply together, from panels
    softcap: float = 0.0

    @property
    def stored(self) -> ScalarType:
        """The type of query, key and value."""
        stored = self.inputs[0][1]
        assert stored is not None
        return stored

    @property
    def gradient(self) -> bool:
        return self.outputs[0][0] != RESULT

    @property
    def tensor_cores(self) -> bool:
        """Return whether matmuls are those of tensor cores: of 16 bits, a warp for 16 rows."""
        return self.narrow and self.shared and self.tile >= ROWS

    @property
    def narrow(self) -> bool:
        """Return whether what is multiplied has 16 bits."""
        return self.stored in (F16, BF16)

    @property
    def grouped(self) -> bool:
        """Return whether four warps multiply together."""
        return self.together and self.tensor_cores and self.tile % (ROWS * WARPGROUP) == 0

    @property
    def tiles(self) -> tuple[int, ...]:
        """Sizes of tiles, the largest first. What is added to the scores of the largest spills registers."""
        return (LARGEST, *TILES) if self.together and self.narrow and self.mask != ADDED else TILES

    def step_beside(self, columns: int) -> int:
        """Queries or keys of a tile that gradients with tensor cores take at once, beside sums of so many columns in
        registers."""
        return min(self.tile, STEP if columns <= FEW_SUMS * (2 if self.grouped else 1) else STEP // 2)

    @property
    def parted(self) -> bool:
        """Return whether gradients of keys and of values are those of two kernels with tensor cores: where there are
        no registers for both sums. Where scores are looked at by longer loops, the assembler finds some more."""
        many = self.dropout or self.mask == COLUMNS or (self.grouped and self.mask != ADDED)
        most = MOST_SUMS if many else MOST_SUMS_UNMASKED
        return self.tensor_cores and self.gradient and self.dim + self.value_dim > most

    @property
    def patch(self) -> int:
        """Rows and columns that a thread multiplies at once; of small tiles less, so that all threads have some."""
        return PATCH if self.tile > 16 else PATCH // 2

    @property
    def padded_dim(self) -> int:
        return -(-self.dim // PATCH) * PATCH

    @property
    def padded_value_dim(self) -> int:
        return -(-self.value_dim // PATCH) * PATCH

    def has(self, name: str) -> bool:
        """Return whether an operand, or a result, is there."""
        return dict(self.inputs + self.outputs).get(name) is not None

    @property
    def temporaries(self) -> dict[str, ScalarType]:
        """Buffers of a launch that follow operands and results among its pointers."""
        lists = {"bounds": I32, "row_counts": I32, "row_tiles": I32, "row_claims": I32}
        if not self.gradient:
            return lists
        lists |= {"key_counts": I32, "key_tiles": I32} | dict.fromkeys(self.key_claims, I32)
        return lists | {"moved": self.computed, "base": self.computed}

    @property
    def key_claims(self) -> tuple[str, ...]:
        """Counters of the kernels for gradients of keys and values."""
        return ("value_claims", "key_claims") if self.parted else ("key_claims",)

    def temporary_sizes(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Bytes of each."""
        units = (sizes["batch"] if sizes["mask_step"] else 1) * sizes["mask_heads"]
        rows, keys = (-(-sizes[name] // self.tile) for name in ("queries", "keys"))
        lists = [units * keys * 8 * 4, units * rows * 4, units * rows * keys * 4, 4]
        if not self.gradient:
            return tuple(lists)
        numbers = sizes["batch"] * sizes["heads"] * sizes["queries"] * self.computed.bytes
        claims = [4] * len(self.key_claims)
        return (*lists, units * keys * 4, units * rows * keys * 4, *claims, numbers, numbers)

    def name(self, role: str) -> str:
        parts = [role, self.stored, self.dim, self.value_dim, self.tile]
        parts += ["dropout"] if self.dropout else []
        parts += [] if self.shared else ["scratch"]
        parts += [f"x{self.width}"] if self.width > 1 else []
        parts += ["grouped"] if self.grouped else []
        parts += [] if self.persistent else ["static"]
        parts += ["capped"] if self.softcap else []
        parts += [self.mask] if self.mask else []
        parts += [name for name in (BLOCKS, "lse", "grad_lse") if self.has(name)]
        return "attention_" + "_".join(map(str, parts))


@dataclass
class Arguments:
    """Pointers and integers of the kernels of a form, as expressions."""

    form: Form
    names: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.names = [name for name, _ in self.form.inputs]

    @property
    def dims(self) -> int:
        return len(SIZES) + 4 * len(self.names)

    def buffers(self, *written: str) -> list[Buffer]:
        """All buffers, in the order of the pointers; those that a kernel writes are ``out``."""
        f = self.form
        found = {name: U8 if type_ is None else type_ for name, type_ in f.inputs} | dict(f.outputs) | f.temporaries
        return [Buffer(name, type_, OUT if name in written else IN) for name, type_ in found.items()]

    def size(self, name: str) -> Node:
        return n.dim(SIZES.index(name))

    def tiles(self, name: str) -> Node:
        """The number of tiles of queries or keys."""
        return n.div(n.add(self.size(name), self.form.tile - 1), self.form.tile)

    def at(self, name: str, *index: Node) -> Node:
        """The place of an operand's element."""
        first = len(SIZES) + 4 * self.names.index(name)
        return n.total(n.mul(i, n.dim(first + k)) for k, i in enumerate(index))

    def query_number(self, place: Any, query: Node) -> Node:
        """The place of a query's number among those of all, where no strides are given."""
        lead = n.add(n.mul(place.batch, self.size("heads")), place.head)
        return n.add(n.mul(lead, self.size("queries")), query)

    def load(self, name: str, *index: Node, where: Node | None = None) -> Node:
        """An operand's element, as it is stored."""
        stored = dict(self.form.inputs)[name]
        assert stored is not None
        return n.load(name, stored, self.at(name, *index), where)

    def unit(self, batch: Node, head: Node) -> Node:
        """The number of the mask's heads before the one that a query head goes by."""
        return n.add(n.mul(n.mul(batch, self.size("mask_step")), self.size("mask_heads")), self.mask_head(head))

    def mask_head(self, head: Node) -> Node:
        return n.div(head, self.size("heads_per_mask"))

    def number(self, k: int) -> Node:
        """Param ``k`` of the op, a float, in the type of the sums."""
        return n.cast(n.word(k, F64), self.form.computed)


def integers(ins: Mapping[str, Any], causal: bool) -> dict[str, int]:
    """The integers that kernels get before strides, by name; ``ins`` are the operands of a launch by name."""
    (batch, queries, heads, _), (_, keys, key_heads, _) = ins["query"].shape, ins["key"].shape
    mask = ins["mask"]
    group = max(heads // max(key_heads, 1), 1)
    found = {"batch": batch, "queries": queries, "heads": heads, "keys": keys, "key_heads": key_heads, "group": group}
    found["shift"] = keys - queries if causal else EVERY_KEY
    by_column = kind_of(mask) == COLUMNS
    mask_batch, mask_heads = mask.shape[:2] if by_column else (1, 1)
    found |= {"mask_step": int(mask_batch > 1), "mask_heads": mask_heads}
    found["heads_per_mask"] = max(heads // max(mask_heads, 1), 1)
    names = ops.COLUMNS[causal][mask.shape[3]] if by_column else ()
    found |= {name: names.index(name) if name in names else -1 for name in SIZES[-3:]}
    return found


def strides(name: str, x: Any) -> list[int]:
    """Four strides of an operand: a mask broadcasts to four dims, other operands may have less; 0 without one."""
    if x is None:
        return [0] * 4
    of_dims = [0 if size == 1 else stride for size, stride in zip(x.shape, x.strides, strict=True)]
    missing = [0] * (4 - len(of_dims))
    return [*missing, *of_dims] if name == "mask" else [*of_dims, *missing]


def kind_of(mask: Any) -> str | None:
    """The kind of a mask by its dtype."""
    if mask is None:
        return None
    return BOOLEAN if mask.dtype.is_bool else COLUMNS if mask.dtype.is_integer else ADDED


def names_of(op: Any) -> list[str]:
    """Operands of an op of attention by name, as buffers are called."""
    return [BLOCKS if name == "blocks?" else name.rstrip("?") for name in op.inputs]


def results_of(op: Any, with_lse: bool) -> list[str]:
    """Results of an op of attention by name."""
    if isinstance(op, ops.AttentionGrad):
        return ["query_gradient", "key_gradient", "value_gradient"]
    return [RESULT, "lse"] if with_lse else [RESULT]
