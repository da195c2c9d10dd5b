"""Stages shown on request."""

import pytest

from umiak.compiler import dump, jit
from umiak.compiler.jit import engine, object_cache
from umiak.util import flags

TEXT = "define i64 @k() {\n  ret i64 42\n}\n"


@pytest.fixture(autouse=True)
def clean(tmp_path):
    before = object_cache.FOLDER.value
    object_cache.FOLDER.set(str(tmp_path / "cache"))
    engine.forget()
    yield
    flags.set_flags({"FLAGS_dump": "", "FLAGS_dump_folder": ""})
    object_cache.FOLDER.set(before)
    engine.forget()


def test_nothing_is_shown_unasked(capsys):
    dump.dump("loop", "k", lambda: pytest.fail("built for nobody"))
    assert capsys.readouterr() == ("", "")
    assert not dump.wanted("loop")


def test_asked_stages_are_printed(capsys):
    flags.set_flags({"FLAGS_dump": "loop, asm"})
    assert dump.wanted("asm")
    assert not dump.wanted("llvm")
    dump.dump("loop", "softmax", lambda: "the loops\n")
    dump.dump("llvm", "softmax", "hidden")
    dump.dump("asm", "softmax", "ret")
    assert capsys.readouterr() == ("", "; ---- loop of softmax\nthe loops\n\n; ---- asm of softmax\nret\n\n")


def test_unknown_stages_are_refused():
    with pytest.raises(ValueError, match="among operations, nest, loop, llvm, asm, got assembler, loops"):
        flags.set_flags({"FLAGS_dump": "loops,llvm,assembler"})
    assert dump.FLAG.value == ""
    with pytest.raises(ValueError, match="got 'loops'"):
        dump.dump("loops", "k", "")


def test_files(tmp_path):
    flags.set_flags({"FLAGS_dump": "loop", "FLAGS_dump_folder": str(tmp_path / "d")})
    for name, text in (("a/b c", "1"), ("a/b c", "1"), ("a/b c", "2"), ("k", "3")):
        dump.dump("loop", name, text)
    found = {path.name: path.read_text() for path in (tmp_path / "d").iterdir()}
    assert found == {"a_b_c.loop": "1", "a_b_c.loop.2": "2", "k.loop": "3"}


@pytest.mark.parametrize("warm", [False, True])
def test_jit_shows_llvm_and_asm(tmp_path, warm):
    if warm:
        jit.load(TEXT, ["k"])
        engine.forget()
    flags.set_flags({"FLAGS_dump": "llvm,asm", "FLAGS_dump_folder": str(tmp_path / f"d{warm}")})
    jit.load(TEXT, ["k"])
    assert (tmp_path / f"d{warm}" / "k.llvm").read_text() == TEXT
    assert "ret" in (tmp_path / f"d{warm}" / "k.asm").read_text()


def test_collecting():
    assert not dump.collecting()
    with dump.collect() as outer:
        dump.dump("nest", "k", "n")
        with dump.collect() as inner:
            dump.dump("loop", "k", lambda: "l")
        assert dump.wanted("asm")
    assert outer == {"nest:k": "n"}
    assert inner == {"loop:k": "l"}
