"""The decoder of ``decoder_sizes.py`` as a file of llama.cpp, with random weights in blocks of 8 or 4 bits.

The package ``gguf`` writes it. Matrices of one shape have the same numbers, which no time depends on.
"""

from __future__ import annotations

import gguf
import numpy as np
from models.decoder_sizes import BASE, EPSILON, HEAD, HEADS, HIDDEN, KEY_HEADS, PROMPT, WIDTH, WORDS


def write(path: str, blocks: str, layers: int) -> None:
    """``blocks``: ``Q8_0`` or ``Q4_0``, of all matrices but the embedding, which is of float16."""
    rng = np.random.default_rng(0)
    kind = gguf.GGMLQuantizationType[blocks]
    ready: dict[tuple[int, int], np.ndarray] = {}
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(2 * PROMPT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEY_HEADS)
    writer.add_rope_dimension_count(HEAD)
    writer.add_rope_freq_base(BASE)
    writer.add_layer_norm_rms_eps(EPSILON)
    writer.add_vocab_size(WORDS)
    writer.add_tokenizer_model("no_vocab")

    def numbers(outputs: int, inputs: int) -> np.ndarray:
        return rng.standard_normal((outputs, inputs), "float32") * np.float32(0.02)

    def matrix(name: str, outputs: int, inputs: int) -> None:
        if (outputs, inputs) not in ready:
            ready[outputs, inputs] = gguf.quants.quantize(numbers(outputs, inputs), kind)
        writer.add_tensor(f"{name}.weight", ready[outputs, inputs], raw_dtype=kind)

    def norm(name: str) -> None:
        writer.add_tensor(f"{name}.weight", np.ones(WIDTH, "float32"))

    writer.add_tensor("token_embd.weight", numbers(WORDS, WIDTH).astype("float16"))
    norm("output_norm")
    matrix("output", WORDS, WIDTH)
    for i in range(layers):
        at = f"blk.{i}."
        norm(at + "attn_norm")
        matrix(at + "attn_q", HEADS * HEAD, WIDTH)
        matrix(at + "attn_k", KEY_HEADS * HEAD, WIDTH)
        matrix(at + "attn_v", KEY_HEADS * HEAD, WIDTH)
        matrix(at + "attn_output", WIDTH, HEADS * HEAD)
        norm(at + "ffn_norm")
        matrix(at + "ffn_gate", HIDDEN, WIDTH)
        matrix(at + "ffn_up", HIDDEN, WIDTH)
        matrix(at + "ffn_down", WIDTH, HIDDEN)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
