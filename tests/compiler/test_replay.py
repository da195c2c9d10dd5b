"""Recorded compilations, compiled again."""

import json
import sys
import types

import pytest

from umiak.compiler import compilation_log, dump, jit
from umiak.compiler.jit import engine, object_cache
from umiak.compiler.replay import main, replay
from umiak.util import flags

TEXT = "define i64 @{0}() {{\n  ret i64 {1}\n}}\n"


@pytest.fixture(autouse=True)
def folder(tmp_path):
    before = object_cache.FOLDER.value
    object_cache.FOLDER.set(str(tmp_path / "cache"))
    engine.forget()
    flags.set_flags({"FLAGS_log_compilations": str(tmp_path / "records")})
    yield tmp_path / "records"
    flags.set_flags({"FLAGS_log_compilations": ""})
    object_cache.FOLDER.set(before)
    engine.forget()


def change(path, edit):
    content = json.loads(path.read_text())
    edit(content)
    path.write_text(json.dumps(content))


def test_unchanged_compiler_shows_no_difference(folder, capsys):
    jit.load_many([(TEXT.format("one", 1), ["one"]), (TEXT.format("two", 2), ["two"])])
    assert [path.name.partition("-")[0] for path in sorted(folder.iterdir())] == ["one", "two"]
    assert list(replay(folder)) == [("one", []), ("two", [])]
    assert main([str(folder)]) == 0
    assert capsys.readouterr().out == "2 compilations, 0 of them differ\n"


def test_warm_compilations_are_recorded_alike(folder, tmp_path):
    jit.load(TEXT.format("k", 1), ["k"])
    engine.forget()
    flags.set_flags({"FLAGS_log_compilations": str(tmp_path / "again")})
    jit.load(TEXT.format("k", 1), ["k"])
    (first,), (second,) = folder.iterdir(), (tmp_path / "again").iterdir()
    assert first.name == second.name
    assert first.read_text() == second.read_text()


def test_differences_are_shown(folder, capsys):
    jit.load(TEXT.format("k", 1), ["k"])
    (path,) = folder.iterdir()

    def edit(content):
        content["stages"]["asm:k"] = content["stages"]["asm:k"].replace("ret", "trap")
        content["stages"]["loop:k"] = ""
        del content["stages"]["llvm:k"]

    change(path, edit)
    assert main([str(folder)]) == 1
    out = capsys.readouterr().out
    assert "-\ttrap" in out
    assert "+\tret" in out
    assert "k loop:k: logged '', now None" in out
    assert "+  ret i64 1\n" in out
    assert "1 compilations, 1 of them differ" in out


def test_what_a_compilation_compiles_is_in_its_record(folder, monkeypatch):
    def compile_nest(inputs):
        dump.dump("nest", "pair", f"a nest of {inputs['value']}")
        jit.load(TEXT.format("pair", inputs["value"]), ["pair"])

    module = types.ModuleType("umiak_test_recipes")
    module.compile_nest = compile_nest
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(compilation_log.RECIPES, "pair", "umiak_test_recipes:compile_nest")
    with compilation_log.logged("pair", "pair", lambda: {"value": 3}):
        compile_nest({"value": 3})
    (one,) = compilation_log.read(folder)
    assert set(one["stages"]) == {"nest:pair", "llvm:pair", "asm:pair"}
    engine.forget()
    assert list(replay(folder)) == [("pair", [])]
    assert [path.name for path in folder.iterdir()] == [next(folder.iterdir()).name]


def test_nothing_is_recorded_unasked(folder):
    flags.set_flags({"FLAGS_log_compilations": ""})
    with compilation_log.logged("llvm", "k", lambda: pytest.fail("inputs of no log")):
        assert not dump.collecting()
    assert not folder.exists()


def test_failed_compilations_leave_no_record(folder):
    with pytest.raises(jit.CompileError):
        jit.load("nonsense", ["k"])
    assert not folder.exists()


def test_what_is_no_record_is_refused(folder):
    with pytest.raises(FileNotFoundError, match="folder of logs"):
        list(replay(folder))
    folder.mkdir()
    (folder / "x.json").write_text("[]")
    with pytest.raises(ValueError, match=r"logs of compilations, got .*x\.json"):
        list(replay(folder))
    (folder / "x.json").write_text(json.dumps({"recipe": "cake", "name": "", "inputs": 0, "stages": {}}))
    with pytest.raises(ValueError, match="a recipe among llvm, got 'cake'"):
        list(replay(folder))
