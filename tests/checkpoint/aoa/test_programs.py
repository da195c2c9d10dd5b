"""Random programs: against NumPy statement by statement, in boxes, and back again."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.aoa import counted, run, same
from umiak.checkpoint.aoa import apply_layout, compile_aoa
from umiak.checkpoint.box import Box
from umiak.checkpoint.data_model import TensorInfo
from umiak.checkpoint.dtypes import numpy_dtype

NAMES = {np.dtype(numpy_dtype(n)): n for n in ("float32", "float16", "bfloat16")}


class Writer:
    """Writes a program and does what it says. No value is lost: a name is given again only when it has been used."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.text: list[str] = []
        self.sources: dict[str, TensorInfo] = {}
        for i in range(rng.integers(2, 5)):
            shape = tuple(int(n) for n in rng.choice([1, 2, 3, 4, 6, 8], rng.integers(1, 4)))
            self.sources[f"s{i}"] = TensorInfo(f"s{i}", shape, str(rng.choice(list(NAMES.values()))))
        # Whole numbers up to 256 are the same in every dtype, there and back.
        self.arrays = {k: (x.astype(int) % 257).astype(x.dtype) for k, x in counted(self.sources).items()}
        self.env = dict(self.arrays)
        self.used: set[str] = set()

    def pick(self) -> str:
        """Mostly a name that is not used yet."""
        fresh = [n for n in self.env if n not in self.used]
        return str(self.rng.choice(fresh if fresh and self.rng.random() < 0.85 else list(self.env)))

    def give(self, *arrays: np.ndarray) -> list[str]:
        names = []
        for x in arrays:
            again = [n for n in self.used if n in self.env and n not in names]
            name = str(self.rng.choice(sorted(again))) if again and self.rng.random() < 0.4 else f"t{len(self.env)}"
            self.env[name] = x
            self.used.discard(name)
            names.append(name)
        return names

    def write(self, taken: list[str], text: str, *arrays: np.ndarray) -> None:
        self.used.update(taken)
        self.text.append(text.format(given=", ".join(self.give(*arrays))))

    def step(self) -> None:
        a = self.pick()
        x = self.env[a]
        rng = self.rng
        match rng.integers(0, 8):
            case 0:
                self.write([a], f"{a} -> {{given}}", x)
            case 1:
                self.write([a], f"{a}^T -> {{given}}", x.T)
            case 2:
                axes = [int(i) for i in rng.permutation(x.ndim)]
                self.write([a], f"{a} -> {{given}}, permute='{axes}'", x.transpose(axes))
            case 3:
                to = str(rng.choice(list(NAMES.values())))
                text = f"{a} -> {{given}}, src_dtype='{NAMES[x.dtype]}', dst_dtype='{to}'"
                self.write([a], text, x.astype(numpy_dtype(to)))
            case 4:
                axis = int(rng.integers(x.ndim))
                counts = [c for c in (2, 3, 4) if x.shape[axis] % c == 0]
                if counts:
                    self.write([a], f"{a} -> {{given}}, axis={axis}", *np.split(x, rng.choice(counts), axis))
            case 5 | 6:
                axis = int(rng.integers(x.ndim))
                like = [
                    n
                    for n, y in self.env.items()
                    if y.dtype == x.dtype
                    and y.ndim == x.ndim
                    and np.take(y, [0], axis).shape == np.take(x, [0], axis).shape
                ]
                others = [a, *(str(n) for n in rng.choice(like, rng.integers(1, 3)))]
                rng.shuffle(others)
                text = f"{', '.join(others)} -> {{given}}, axis={axis - x.ndim if rng.random() < 0.3 else axis}"
                self.write(others, text, np.concatenate([self.env[n] for n in others], axis))
            case 7:
                axis = int(rng.integers(x.ndim))
                heads, groups = (2, 1) if rng.random() < 0.5 else (2, 2)
                n = x.shape[axis]
                if n % (heads + 2 * groups):
                    return
                unit = n // (heads + 2 * groups)
                order = [(i, g) for g in range(groups) for i in range(3)]
                sizes = [unit * heads // groups, unit, unit]
                parts: list[list[np.ndarray]] = [[], [], []]
                at = 0
                for i, _ in order:
                    parts[i].append(np.take(x, range(at, at + sizes[i]), axis))
                    at += sizes[i]
                text = f"{a} -> {{given}}, fused_qkv, num_heads={heads}, num_key_value_groups={groups}, axis={axis}"
                self.write([a], text, *(np.concatenate(p, axis) for p in parts))

    @property
    def results(self) -> dict[str, np.ndarray]:
        return {n: x for n, x in self.env.items() if n not in self.used}


def written(seed: int) -> Writer:
    writer = Writer(np.random.default_rng(seed))
    for _ in range(int(writer.rng.integers(3, 14))):
        writer.step()
    return writer


@pytest.mark.parametrize("seed", range(120))
def test_as_written(seed):
    w = written(seed)
    layout = compile_aoa(w.text, w.sources)
    same(run(layout, w.arrays), w.results)
    # With targets the same, and any of them alone.
    again = compile_aoa(w.text, w.sources, layout.targets)
    assert all(again.pieces(key) == layout.pieces(key) for key in layout.targets)
    for key in layout.targets:
        assert set(layout.sources_of(key)) == {p.key for p in layout.pieces(key)}


@pytest.mark.parametrize("seed", range(120))
def test_boxes_are_parts_of_the_whole(seed):
    w = written(seed)
    layout = compile_aoa(w.text, w.sources)
    for key, whole in w.results.items():
        for _ in range(3):
            ends = [sorted(int(i) for i in w.rng.integers(0, n + 1, 2)) for n in whole.shape]
            box = Box(tuple(a for a, _ in ends), tuple(b - a for a, b in ends))
            seen = np.zeros(whole.shape, int)
            for piece in layout.pieces(key, box):
                seen[piece.target.slices] += 1
                assert box.contains(piece.target)
            assert (seen[box.slices] == 1).all() and seen.sum() == box.size
            out = apply_layout(layout, lambda k, b: w.arrays[k][b.slices], key, box)
            np.testing.assert_array_equal(out, whole[box.slices])


@pytest.mark.parametrize("seed", range(120))
def test_and_back(seed):
    w = written(seed)
    targets = compile_aoa(w.text, w.sources).targets
    back = compile_aoa(w.text, targets, w.sources, reverse=True)
    same(run(back, w.results), w.arrays)
