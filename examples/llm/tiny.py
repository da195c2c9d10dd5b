"""Write a small model directory with random weights and a tokenizer trained on the spot: ``python tiny.py FOLDER``.

Nothing is downloaded. The text is the language reference that every Python carries, or a file.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from config import Config
from model import Decoder
from options import integer
from sources import Random, write
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

END = "<|end|>"
CHAT = """\
{% for message in messages %}
{{ message.role }}: {{ message.content | trim }}{{ eos_token }}
{% endfor %}
{% if add_generation_prompt %}assistant:{% endif %}
"""


def train_tokenizer(text: str, size: int) -> Tokenizer:
    """A byte-level tokenizer of ``size`` tokens, the first of which ends a text."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=[END], initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator([text], trainer)
    return tokenizer


def reference() -> str:
    """The language reference inside Python's ``help()``."""
    from pydoc_data.topics import topics

    return "\n\n".join(topics.values())


def make(folder: Path, config: Config, text: str, seed: int = 0, shard: int = 4 << 30) -> None:
    """Write a directory of a model with these sizes."""
    source = Random(seed)
    Decoder(config, source)
    write(folder, config, source.given, shard)
    train_tokenizer(text, config.vocab_size).save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"eos_token": END, "chat_template": CHAT}, indent=2) + "\n"
    )


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    p.add_argument("folder", type=Path)
    p.add_argument("--text", type=Path, help="a file to train the tokenizer on")
    p.add_argument("--vocab", type=integer(257), default=1024, help="the end of a text, each byte, and pieces of text")
    p.add_argument("--layers", type=integer(1), default=4)
    p.add_argument("--width", type=integer(1), default=256)
    p.add_argument("--hidden", type=integer(1), default=704)
    p.add_argument("--heads", type=integer(1), default=8)
    p.add_argument("--kv-heads", type=integer(1), default=2)
    p.add_argument("--context", type=integer(1), default=2048)
    p.add_argument("--seed", type=integer(0), default=0)
    args = p.parse_args(argv)
    if args.width % (2 * args.heads):
        p.error(f"--width as an even number for each of {args.heads} heads is required, got {args.width}")
    if args.heads % args.kv_heads:
        p.error(f"--heads that --kv-heads divides is required, got {args.heads} and {args.kv_heads}")
    config = Config(
        args.vocab, args.width, args.hidden, args.layers, args.heads, args.kv_heads, args.width // args.heads,
        args.context, eos=(0,),
    )  # fmt: skip
    try:
        make(args.folder, config, args.text.read_text(encoding="utf-8") if args.text else reference(), args.seed)
    except (OSError, UnicodeDecodeError) as error:
        print(f"files that can be read and written are required: {error}", file=sys.stderr)
        return 1
    print(f"wrote {args.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
