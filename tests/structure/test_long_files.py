"""Long files are listed, and nothing fails for them."""

from long_files import MOST, ROOT, long_files


def test_long_files_are_listed(tmp_path):
    (tmp_path / "umiak" / "core").mkdir(parents=True)
    (tmp_path / "umiak" / "long.py").write_text("x = 1\n" * (MOST + 1))
    (tmp_path / "umiak" / "core" / "longer.pyx").write_text("x = 1\n" * (MOST + 2))
    (tmp_path / "umiak" / "fits.py").write_text("x = 1\n" * MOST)
    assert long_files(tmp_path) == [(MOST + 2, "umiak/core/longer.pyx"), (MOST + 1, "umiak/long.py")]


def test_make_lint_lists_them():
    assert "tools/long_files.py" in (ROOT / "Makefile").read_text().partition("\nlint:")[2].partition("\n\n")[0]
