"""Logits of model directories by the library ``transformers``: what ``tests/data/llm_logits.json`` holds.

In the project's environment ``python transformers_logits.py write FOLDER``, then in one with ``torch`` and
``transformers`` ``python transformers_logits.py read FOLDER llm_logits.json``.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path

import numpy as np

SIZES = {
    "vocab_size": 48, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 64,
}  # fmt: skip
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
KINDS = {
    "plain": {},
    "tied": {"tie_word_embeddings": True},
    "theta": {"rope_theta": 5e5, "head_dim": 16, "num_key_value_heads": 1},
    "linear": {"rope": {"rope_type": "linear", "factor": 4.0}},
    "llama3": {"rope": {**LLAMA3, "original_max_position_embeddings": 16}},
    "yarn": {"rope": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}},
    "biases": {"qkv_bias": True, "out_bias": True, "mlp_bias": True},
    "qwen2": {"qkv_bias": True, "rms_norm_eps": 1e-3},
}
SEED, LENGTH = 3, 40
IDS = np.random.default_rng(SEED).integers(0, SIZES["vocab_size"], LENGTH)
COLUMNS = 8  # of the logits of each token, which are kept


def write(folder: Path) -> None:
    sys.path.insert(0, str(Path(__file__).parents[3] / "examples" / "llm"))
    from config import Config
    from model import Decoder
    from sources import Random, write

    for name, changes in KINDS.items():
        config, source = Config(**{**SIZES, **changes}), Random(SEED)
        Decoder(config, source)
        write(folder / name, config, source.given)


def read(folder: Path, out: Path) -> None:
    import torch
    import transformers

    logits = {}
    for name in KINDS:
        model = transformers.AutoModelForCausalLM.from_pretrained(folder / name, dtype=torch.float32)
        with torch.no_grad():
            values = model(torch.tensor(IDS[None])).logits[0, :, :COLUMNS].numpy()
        logits[name] = base64.b64encode(values.astype("<f4").tobytes()).decode()
    out.write_text(json.dumps({"transformers": transformers.__version__, "logits": logits}, indent=1) + "\n")


if __name__ == "__main__":
    {"write": write, "read": read}[sys.argv[1]](*map(Path, sys.argv[2:]))
