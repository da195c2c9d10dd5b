"""A model directory to an engine. All is checked before anything is allocated, also that it fits into memory."""

from __future__ import annotations

import argparse
import resource
from dataclasses import dataclass
from pathlib import Path

from chats import Chats
from config import BadModel, Config
from engine import Engine
from linear import WEIGHTS
from model import Decoder
from runner import Runner
from sources import Check, Files, Reader
from templates import Template
from text import read_tokenizer
from tokenizers import Tokenizer

import paddle


@dataclass
class Loaded:
    """An engine with a tokenizer and a chat template, and both for chats; bytes of weights and of the cache."""

    config: Config
    tokenizer: Tokenizer
    template: Template
    chats: Chats
    engine: Engine
    weight_bytes: int
    cache_bytes: int

    def memory(self) -> str:
        """A line about memory."""
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        return f"weights {self.weight_bytes >> 20} MB, cache {self.cache_bytes >> 20} MB, process at most {peak} MB"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of all programs that load a model."""
    parser.add_argument("model", type=Path, help="a Hugging Face directory of a LLaMA, Mistral or Qwen2")
    parser.add_argument("--weights", choices=WEIGHTS, default="float32", help="how weights are stored (%(default)s)")
    parser.add_argument("--cache-megabytes", type=int, default=256, help="keys and values of all texts (%(default)s)")
    parser.add_argument("--block-size", type=int, default=16, help="tokens of a block of the cache (%(default)s)")
    parser.add_argument("--max-texts", type=int, default=32, help="texts that run together (%(default)s)")
    parser.add_argument("--chunk", type=int, default=512, help="tokens of prompts in one step (%(default)s)")
    parser.add_argument(
        "--threads", type=int, default=paddle.get_num_threads(), help="threads of the model (%(default)s)"
    )
    parser.add_argument("--eager", action="store_true", help="run operations one by one instead of captured programs")


def available() -> int:
    """Bytes of memory that are available, as Linux estimates them."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    raise OSError("[/proc/meminfo] requires a line MemAvailable, got none")


def load(args: argparse.Namespace) -> Loaded:
    """Load a model with these options.

    Raises:
        BadModel: a directory that is damaged or contradicts itself, or a model that does not fit.
    """
    for name in ("cache_megabytes", "block_size", "max_texts", "chunk", "threads"):
        if getattr(args, name) < 1:
            raise BadModel(f"--{name.replace('_', '-')}", "1 or more", getattr(args, name))
    folder = args.model
    paddle.set_num_threads(args.threads)
    config = Config.read(folder)
    files = Files(folder)
    check = Check(files, args.weights)
    Decoder(config, check)
    check.finish(config)
    tokenizer, template = read_tokenizer(folder, config.vocab_size), Template.read(folder)
    element = 2 if args.weights == "bfloat16" else 4
    block = 2 * config.num_hidden_layers * config.num_key_value_heads * args.block_size * config.head_dim * element
    blocks = (args.cache_megabytes << 20) // block
    if blocks < 1:
        raise BadModel("--cache-megabytes", f"room for a block of {block:,} bytes", f"{args.cache_megabytes} MB")
    needed = check.bytes + blocks * block
    if needed > available():
        got = f"{available() >> 20} MB available"
        raise BadModel(folder, f"{needed >> 20} MB for weights in {args.weights} and the cache", got)
    reader = Reader(files, args.weights)
    model = Decoder(config, reader)
    runner = Runner(model, blocks, args.block_size, capture=not args.eager)
    size = sum(b.size * b.element_size() for b in {id(b): b for b in model.buffers()}.values())
    engine = Engine(runner, blocks, args.max_texts, args.chunk)
    chats = Chats(tokenizer, template)
    return Loaded(config, tokenizer, template, chats, engine, size, blocks * block)
