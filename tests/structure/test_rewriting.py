"""Bytecode that is written before a run of tests is what pytest looks for."""

import os

import rewrite_tests
from _pytest.assertion import rewrite

WRONG = "def test_two():\n    assert 1 + 1 == 3\n"


def test_pytest_takes_what_is_written_until_the_module_changes(tmp_path):
    module = tmp_path / "test_it.py"
    module.write_text(WRONG)
    bytecode = rewrite_tests.write(module)
    written = os.stat(bytecode)
    assert "@pytest_ar" in rewrite._read_pyc(module, bytecode).co_names
    assert rewrite_tests.write(module) == bytecode and os.stat(bytecode).st_ino == written.st_ino
    module.write_text(WRONG + "\n")
    assert rewrite._read_pyc(module, bytecode) is None


def test_all_tests_of_ours_are_among_them():
    names = {path.name for path in rewrite_tests.rewritten_modules() if path.is_relative_to(rewrite_tests.ROOT)}
    assert {"conftest.py", os.path.basename(__file__), "test_ops.py"} <= names
