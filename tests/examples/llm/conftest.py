"""The modules of the example, and small model directories."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import paddle

FOLDER = Path(__file__).parents[3] / "examples" / "llm"
SIZES = {
    "vocab_size": 288, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 256,
}  # fmt: skip
TEXT = "the cat sat on a mat.\n\nevery dog chews bones quickly!\n\nfish (42 of them) swim by; naïve façade — 日本語\n\n"


@pytest.fixture(autouse=True)
def threads_as_before():
    """Programs of the example set the number of threads; other tests have that of the machine."""
    before = paddle.get_flags("FLAGS_paddle_num_threads")
    yield
    paddle.set_flags(before)


@pytest.fixture(scope="session")
def llm():
    """The example's modules by name, which no other test shall find under these names."""
    names = sorted(p.stem for p in FOLDER.glob("*.py"))
    before = {n: sys.modules.pop(n) for n in names if n in sys.modules}
    sys.path.insert(0, str(FOLDER))
    try:
        modules = {n: importlib.import_module(n) for n in names}
    finally:
        sys.path.remove(str(FOLDER))
        for n in names:
            sys.modules.pop(n, None)
        sys.modules.update(before)
    return SimpleNamespace(**modules)


@pytest.fixture(scope="session")
def config(llm):
    return llm.config.Config(**SIZES, eos=(0,))


@pytest.fixture(scope="session")
def directory(llm, config, tmp_path_factory):
    """A model directory, with its weights in several files."""
    folder = tmp_path_factory.mktemp("model") / "tiny"
    llm.tiny.make(folder, config, TEXT, seed=5, shard=40_000)
    return folder


@pytest.fixture(scope="session")
def model(llm, config):
    """The decoder of that directory."""
    return llm.model.Decoder(config, llm.sources.Random(5)).eval()
