"""Planning how 1024 ranks load what 256 ranks saved of a mixture of experts with 671 billion parameters; no data.

The shapes are those of DeepSeek-V3 (arXiv:2412.19437, section 4.2): 61 layers, of which 58 have 256 experts. Stored are
bfloat16 weights and float32 master weights of the experts' second matrices, saved by 4 pipeline stages × 64 ranks, with
attention cut into 8. Wanted, with AOA statements that transpose, rename, fuse and cast: 8 stages × 128 ranks, attention
cut into 4.

    python -m checkpoint_plan [part of the layers]
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from measure import Settings, highest
from rows import Outcome, add_row, add_section, duration

PLANNING = add_section("checkpoint_plan", "Planning a load at scale, without data", figure="growth")
LAYERS, DENSE, EXPERTS = 61, 3, 256
HIDDEN, MOE, FFN, VOCABULARY = 7168, 2048, 18432, 129280
SECONDS, MEMORY = 60.0, 2 << 30

Shape = tuple[int, ...]
# Of the tensors of attention, the axis (of the stored one) that tensor parallelism cuts.
ATTENTION: dict[str, tuple[Shape, int | None]] = {
    "self_attn.q_a_proj": ((1536, HIDDEN), None),
    "self_attn.q_a_layernorm": ((1536,), None),
    "self_attn.q_b_proj": ((24576, 1536), 0),
    "self_attn.kv_a_proj_with_mqa": ((576, HIDDEN), None),
    "self_attn.kv_a_layernorm": ((512,), None),
    "self_attn.kv_b_proj": ((32768, 512), 0),
    "self_attn.o_proj": ((HIDDEN, 16384), 1),
    "input_layernorm": ((HIDDEN,), None),
    "post_attention_layernorm": ((HIDDEN,), None),
}
FEED = {"gate_proj": (MOE, HIDDEN), "up_proj": (MOE, HIDDEN), "down_proj": (HIDDEN, MOE)}


def tensors(layers: int) -> Iterator[tuple[str, Shape, str, int | None, int, int | None]]:
    """(name, shape, dtype, axis that is cut, layer, expert) of all that is stored."""
    yield "model.embed_tokens.weight", (VOCABULARY, HIDDEN), "bfloat16", 0, 0, None
    yield "lm_head.weight", (VOCABULARY, HIDDEN), "bfloat16", 0, layers - 1, None
    yield "model.norm.weight", (HIDDEN,), "bfloat16", None, layers - 1, None
    for n in range(layers):
        head = f"model.layers.{n}"
        for name, (shape, axis) in ATTENTION.items():
            yield f"{head}.{name}.weight", shape, "bfloat16", axis, n, None
        if n < DENSE:
            for name, shape in FEED.items():
                wide = tuple(FFN if s == MOE else s for s in shape)
                yield f"{head}.mlp.{name}.weight", wide, "bfloat16", int(name == "down_proj"), n, None
            continue
        yield f"{head}.mlp.gate.weight", (EXPERTS, HIDDEN), "bfloat16", None, n, None
        for name, shape in FEED.items():
            yield f"{head}.mlp.shared_experts.{name}.weight", shape, "bfloat16", int(name == "down_proj"), n, None
            for e in range(EXPERTS):
                key = f"{head}.mlp.experts.{e}.{name}.weight"
                yield key, shape, "bfloat16", None, n, e
                if name == "down_proj":
                    yield f"{key}.w_0", shape, "float32", None, n, e


STATEMENTS = [
    "lm_head.weight^T -> lm_head.weight",
    *(
        f"model.layers.$LAYER_ID.{name}.weight{'' if 'norm' in name else '^T'} -> decoder.$LAYER_ID.{name}.weight"
        for name in ATTENTION
    ),
    "model.layers.$LAYER_ID.mlp.gate.weight -> decoder.$LAYER_ID.router.weight, dtype='float32'",
    *(
        f"model.layers.$LAYER_ID.mlp.{where}gate_proj.weight^T, model.layers.$LAYER_ID.mlp.{where}up_proj.weight^T "
        f"-> decoder.$LAYER_ID.mlp.{where}up_gate.weight, fused_ffn\n"
        f"model.layers.$LAYER_ID.mlp.{where}down_proj.weight^T -> decoder.$LAYER_ID.mlp.{where}down.weight"
        for where in ("shared_experts.", "experts.$EXPERT_ID.")
    ),
    *(
        f"model.layers.{n}.mlp.gate_proj.weight^T, model.layers.{n}.mlp.up_proj.weight^T "
        f"-> decoder.{n}.mlp.up_gate.weight, fused_ffn\n"
        f"model.layers.{n}.mlp.down_proj.weight^T -> decoder.{n}.mlp.down.weight"
        for n in range(DENSE)
    ),
]


def cut(shape: Shape, axis: int | None, count: int, i: int) -> tuple[Shape, Shape]:
    """Offset and shape of part ``i``."""
    zero = (0,) * len(shape)
    if axis is None:
        return zero, shape
    step = shape[axis] // count
    return (*zero[:axis], i * step, *zero[axis + 1 :]), (*shape[:axis], step, *shape[axis + 1 :])


def saved(layers: int) -> Iterator[tuple[str, str, Shape, tuple[Shape, Shape], str]]:
    """(name, dtype, shape, part, file) of the blocks that 4 stages × 64 ranks write: replicas once."""
    turn = 0
    for key, shape, dtype, axis, layer, expert in tensors(layers):
        first = layer * 4 // layers * 64
        if expert is not None:
            yield key, dtype, shape, cut(shape, None, 1, 0), f"{first + expert // 4}_0.distcp"
            continue
        for i in range(1 if axis is None else 8):
            turn += 1
            yield key, dtype, shape, cut(shape, axis, 8, i), f"{first + i * 8 + turn % 8}_0.distcp"


def wanted(layers: int) -> list[list[tuple[str, str, Shape, tuple[Shape, Shape]]]]:
    """Return the blocks that each of 8 stages × 128 ranks wants."""
    ranks: list[list[tuple[str, str, Shape, tuple[Shape, Shape]]]] = [[] for _ in range(1024)]
    for key, shape, dtype, axis, layer, expert in tensors(layers):
        stage = ranks[(first := layer * 8 // layers * 128) : first + 128]
        state = ".w_0" if key.endswith(".w_0") else ""
        name = key.removesuffix(state).replace("model.layers.", "decoder.")
        if name.endswith("up_proj.weight"):
            continue  # it comes with the other half
        if ".mlp." in name and ".mlp.gate.weight" not in name:
            shape = shape[::-1]
            axis = None if axis is None else 1 - axis
            name = name.replace("down_proj", "down").replace("gate_proj", "up_gate")
            if "up_gate" in name:
                shape = (shape[0], 2 * shape[1])
        elif name.endswith(".mlp.gate.weight"):
            name, dtype = name.replace("mlp.gate", "router"), "float32"
        elif "norm" not in name and "embed" not in name:
            shape = shape[::-1]
            axis = None if axis is None else 1 - axis
        name += state
        if expert is not None:
            stage[expert // 2].append((name, dtype, shape, cut(shape, None, 1, 0)))
            continue
        for r, own in enumerate(stage):
            own.append((name, dtype, shape, cut(shape, axis, 4, r % 4)))
    return ranks


def run(part: float) -> dict[str, float]:
    """Seconds of CPU, the peak of memory and counts for a part of the layers."""
    from umiak.checkpoint.aoa import compile_aoa
    from umiak.checkpoint.box import Box
    from umiak.checkpoint.data_model import Block, Stored
    from umiak.checkpoint.execute import targets_of
    from umiak.checkpoint.plan import plan_load
    from umiak.checkpoint.sources import Sources

    layers = max(DENSE + 1, round(LAYERS * part))
    stored = [Stored(Block(k, d, s, Box(*b)), f, 0) for k, d, s, b, f in saved(layers)]
    wants = [[Block(k, d, s, Box(*b)) for k, d, s, b in own] for own in wanted(layers)]
    begin = time.process_time()
    sources = Sources(stored)
    layout = compile_aoa(STATEMENTS, sources.infos, targets_of(wants))
    compiled = time.process_time()
    plan = plan_load(wants, sources, layout=layout, exchange="sends")
    planned = time.process_time()
    steps = sum(len(p.steps) for p in plan.ranks())
    end = time.process_time()
    loads = [0] * len(wants)
    for item in plan.items:
        loads[item.order[0]] += item.nbytes
    return {
        "parameters": sum(math.prod(info.shape) for key, info in sources.infos.items() if not key.endswith("_0")),
        "tensors": len(sources.infos),
        "wanted": sum(map(len, wants)),
        "items": len(plan.items),
        "steps": steps,
        "statements_s": compiled - begin,
        "plan_s": planned - compiled,
        "ranks_s": end - planned,
        "seconds": end - begin,
        "memory": highest(),
        "balance": max(loads) / (sum(loads) / len(loads)),
    }


def measured(part: float) -> dict[str, float]:
    """The same in a process of its own."""
    command = [sys.executable, "-m", "checkpoint_plan", str(part)]
    done = subprocess.run(command, cwd=Path(__file__).parent, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def measure(settings: Settings) -> Outcome:
    if settings.check:
        found = measured(4 / LAYERS)
        return Outcome(duration(found["seconds"]), "", f"{found['items']:.0f} reads", True)
    parts = [measured(p) for p in (0.25, 0.5, 1.0)]
    whole = parts[-1]
    slope = [b["seconds"] / a["seconds"] / (b["tensors"] / a["tensors"]) for a, b in zip(parts, parts[1:])]
    passed = whole["seconds"] <= SECONDS and whole["memory"] <= MEMORY and max(slope) <= 1.5
    shown = " → ".join(f"{p['seconds']:.1f} s" for p in parts)
    return Outcome(
        f"{whole['seconds']:.1f} s, {whole['memory'] / (1 << 30):.2f} GiB",
        "",
        f"{shown} for {' → '.join(format(int(p['tensors']), ',') for p in parts)} tensors",
        passed,
    )


add_row(
    "plan-671b",
    "plan and AOA of a 671B-parameter mixture of experts, 256 → 1024 ranks",
    "≤ 60 s, ≤ 2 GiB, time per tensor grows ≤ 1.5× per doubling",
    measure,
    PLANNING,
)

if __name__ == "__main__":
    print(json.dumps(run(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)))
