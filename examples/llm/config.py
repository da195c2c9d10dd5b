"""Sizes of a decoder as ``config.json`` of a Hugging Face directory gives them."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MODELS = ("llama", "mistral", "qwen2")
# Kinds of rotary positions: the fields that each needs, and those that it may have.
ROPES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "default": ((), ()),
    "linear": (("factor",), ("original_max_position_embeddings",)),
    "dynamic": (("factor",), ("original_max_position_embeddings",)),
    "llama3": (("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"), ()),
    "yarn": (
        ("factor",),
        ("original_max_position_embeddings", "attention_factor", "beta_fast", "beta_slow", "truncate"),
    ),
}
MOST = 1 << 24  # of any size: a file with more is damaged
LONGEST_FILE = 64 << 20  # bytes of a JSON file


class BadModel(ValueError):
    """A model directory that is damaged, contradicts itself, or is of a kind that is not supported."""

    def __init__(self, where: object, required: str, got: object) -> None:
        text = got if isinstance(got, str) else repr(got)
        super().__init__(f"[{where}] requires {required[:300]}, got {text[:200]}")


@dataclass(frozen=True)
class Config:
    """Sizes of a decoder. ``rope`` has the fields of its kind (``rope_type``) as the file names them; a token sees
    itself and ``sliding_window - 1`` tokens before it, or all of them.
    """

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    max_position_embeddings: int = 2048
    rms_norm_eps: float = 1e-6
    tie_word_embeddings: bool = False
    qkv_bias: bool = False
    out_bias: bool = False
    mlp_bias: bool = False
    rope_theta: float = 10000.0
    rope: dict[str, Any] = field(default_factory=lambda: {"rope_type": "default"})
    eos: tuple[int, ...] = ()
    bos: int | None = None
    sliding_window: int | None = None

    @staticmethod
    def read(folder: Path) -> Config:
        """Read ``config.json``, and the ends of texts from ``generation_config.json`` where it is.

        Raises:
            BadModel: a file that is missing or no JSON, sizes that no decoder has, or a model of another kind.
        """
        path = folder / "config.json"
        raw = read_json(path)
        kind = raw.get("model_type")
        if kind not in MODELS:
            raise BadModel(path, f"a model_type of {MODELS}", kind)
        if raw.get("hidden_act", "silu") != "silu":
            raise BadModel(path, "hidden_act 'silu'", raw["hidden_act"])
        windowed = raw.get("sliding_window") is not None and raw.get("use_sliding_window", kind == "mistral")
        if windowed and kind != "mistral":
            raise BadModel(path, "one window in all layers, those of a 'mistral'", f"a sliding_window in {kind!r}")

        def size(name: str, default: Any = None) -> int:
            value = raw.get(name)
            value = default if value is None else value
            if type(value) is not int or not 1 <= value <= MOST:
                raise BadModel(path, f"{name} as an integer from 1 to {MOST}", repr(value))
            return value

        width, heads = size("hidden_size"), size("num_attention_heads")
        kv_heads = size("num_key_value_heads", heads)
        if heads % kv_heads:
            raise BadModel(path, f"num_attention_heads ({heads}) in groups of equal size", f"{kv_heads} groups")
        if raw.get("head_dim") is None and width % heads:
            raise BadModel(path, f"a hidden_size that {heads} heads divide, or a head_dim", width)
        dim = size("head_dim", width // heads)
        if dim % 2:
            raise BadModel(path, "an even head_dim, as positions rotate pairs", dim)
        rope, theta = read_rope(raw, path)
        qkv_bias = _flag(raw, "attention_bias", kind == "qwen2", path)
        ends = read_json(folder / "generation_config.json") if (folder / "generation_config.json").exists() else {}
        vocabulary = size("vocab_size")
        bos = raw.get("bos_token_id")
        most = size("max_position_embeddings", 2048)
        if rope["rope_type"] == "dynamic":
            # Beyond this length angles change with it, and keys in the cache would be stale.
            most = min(most, int(rope.get("original_max_position_embeddings") or most))
        window = size("sliding_window") if windowed else None
        return Config(
            vocabulary, width, size("intermediate_size"), size("num_hidden_layers"), heads, kv_heads, dim,
            most, _number(raw, "rms_norm_eps", 1e-6, path),
            _flag(raw, "tie_word_embeddings", False, path), qkv_bias, qkv_bias and kind != "qwen2",
            _flag(raw, "mlp_bias", False, path), theta, rope,
            _ids(ends.get("eos_token_id", raw.get("eos_token_id")), vocabulary, path),
            bos if type(bos) is int and 0 <= bos < vocabulary else None,
            window if window is not None and window < most else None,
        )  # fmt: skip

    def write(self, folder: Path) -> None:
        """Write ``config.json``, which ``read`` and the library ``transformers`` read."""
        kind = "qwen2" if self.qkv_bias and not self.out_bias else "mistral" if self.sliding_window else "llama"
        names = {"llama": "LlamaForCausalLM", "mistral": "MistralForCausalLM", "qwen2": "Qwen2ForCausalLM"}
        out = {
            "architectures": [names[kind]],
            "model_type": kind,
            "hidden_act": "silu",
            **{name: getattr(self, name) for name in (
                "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
                "num_key_value_heads", "head_dim", "max_position_embeddings", "rms_norm_eps", "tie_word_embeddings",
                "mlp_bias", "rope_theta",
            )},
            **({"sliding_window": self.sliding_window} if kind == "mistral" else {}),
            "attention_bias": self.qkv_bias,
            "rope_scaling": None if self.rope["rope_type"] == "default" else self.rope,
            "eos_token_id": list(self.eos) or None,
            "bos_token_id": self.bos,
        }  # fmt: skip
        (folder / "config.json").write_text(json.dumps(out, indent=2) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file."""
    try:
        size = path.stat().st_size
        if size > LONGEST_FILE:
            raise BadModel(path, f"a file of {LONGEST_FILE} bytes at most", f"{size} bytes")
        value = json.loads(path.read_bytes())
    except OSError as error:
        raise BadModel(path, "a file that can be read", error.strerror or "none") from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, BadModel):
            raise
        raise BadModel(path, "JSON", str(error)) from None
    if not isinstance(value, dict):
        raise BadModel(path, "a JSON object", value)
    return value


def _number(raw: dict[str, Any], name: str, default: float | None, path: Path, least: float = 0.0) -> float:
    value = raw.get(name, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least < value < math.inf:
        raise BadModel(path, f"{name} as a number above {least:g}", repr(value))
    return float(value)


def _flag(raw: dict[str, Any], name: str, default: bool, path: Path) -> bool:
    value = raw.get(name, default)
    if type(value) is not bool:
        raise BadModel(path, f"{name} as true or false", value)
    return value


def _ids(value: Any, vocabulary: int, path: Path) -> tuple[int, ...]:
    ids = [] if value is None else value if isinstance(value, list) else [value]
    if not all(type(i) is int and 0 <= i < vocabulary for i in ids):
        raise BadModel(path, f"eos_token_id below vocab_size {vocabulary}", value)
    return tuple(ids)


def read_rope(raw: dict[str, Any], path: Path) -> tuple[dict[str, Any], float]:
    """The kind of rotary positions and its base, under the names of old files (rope_scaling) and new ones."""
    given = raw.get("rope_parameters") or raw.get("rope_scaling") or {}
    if not isinstance(given, dict):
        raise BadModel(path, "rope_scaling as an object", given)
    rope = dict(given)
    kind = rope.setdefault("rope_type", rope.pop("type", "default"))
    if not isinstance(kind, str) or kind not in ROPES:
        raise BadModel(path, f"a rope_type of {list(ROPES)}", kind)
    theta = _number(rope if "rope_theta" in rope else raw, "rope_theta", 10000.0, path, least=1.0)
    rope.pop("rope_theta", None)
    required, optional = ROPES[kind]
    for name in rope.keys() - {"rope_type", *required, *optional}:
        raise BadModel(path, f"fields of a rope_type {kind!r}: {[*required, *optional]}", name)
    for name in (*required, *(n for n in optional if rope.get(n) is not None and n != "truncate")):
        _number(rope, name, None, path)
    _flag(rope, "truncate", True, path)
    if kind == "llama3" and not rope["low_freq_factor"] < rope["high_freq_factor"]:
        raise BadModel(path, "low_freq_factor below high_freq_factor", rope)
    return rope, theta
