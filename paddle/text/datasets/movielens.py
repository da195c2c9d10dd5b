"""Ratings of films."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from paddle._public import public
from paddle.io.dataset import Dataset
from paddle.text.datasets import _archives

URL = "https://dataset.bj.bcebos.com/movielens%2Fml-1m.zip"
MD5 = "c4d9eecfca2ab87c1945afe126590906"
age_table = [1, 18, 25, 35, 45, 50, 56]
_TITLE = re.compile(r"^(.*)\((\d+)\)$")
_OP = "Movielens"


class MovieInfo:
    """Film: its number, title without the year, and categories.

    Args:
        index: its number, as text.
        categories: names.
        title: its title.

    Example:
        >>> from paddle.text.datasets.movielens import MovieInfo
        >>> MovieInfo("1", ["Comedy"], "Toy Story").value({"Comedy": 0}, {"toy": 0, "story": 1})
        [[1], [0], [0, 1]]
    """

    def __init__(self, index: str, categories: list[str], title: str) -> None:
        self.index = int(index)
        self.categories = categories
        self.title = title

    def value(self, categories_dict: dict[str, int], movie_title_dict: dict[str, int]) -> list[list[int]]:
        """Numbers of the film, of its categories and of the words of its title."""
        return [
            [self.index],
            [categories_dict[c] for c in self.categories],
            [movie_title_dict[w] for w in self.title.lower().split()],
        ]

    def __repr__(self) -> str:
        return f"<MovieInfo id({self.index}), title({self.title}), categories({self.categories})>"


class UserInfo:
    """User: a number, gender, age and job.

    Args:
        index: the number, as text.
        gender: ``"M"`` or ``"F"``.
        age: the first year of an age group, one of ``age_table``, as text.
        job_id: the number of the job, as text.

    Example:
        >>> from paddle.text.datasets.movielens import UserInfo
        >>> UserInfo("7", "F", "25", "3").value()
        [[7], [1], [2], [3]]
    """

    def __init__(self, index: str, gender: str, age: str, job_id: str) -> None:
        self.index = int(index)
        self.is_male = gender == "M"
        self.age = age_table.index(int(age))
        self.job_id = int(job_id)

    def value(self) -> list[list[int]]:
        """Number, gender (1 for women), place of the age group, and job."""
        return [[self.index], [0 if self.is_male else 1], [self.age], [self.job_id]]

    def __repr__(self) -> str:
        gender = "M" if self.is_male else "F"
        return f"<UserInfo id({self.index}), gender({gender}), age({age_table[self.age]}), job({self.job_id})>"


@public("paddle.text paddle.text.datasets")
class Movielens(Dataset):
    """MovieLens 1M: ratings of films by users.

    Args:
        data_file: path of ``ml-1m.zip``, with ``ml-1m/movies.dat``, ``users.dat`` and ``ratings.dat``; None: it is
            downloaded.
        mode: ``"train"`` or ``"test"``.
        test_ratio: the share of ratings for the test, drawn one by one.
        rand_seed: seed of the draw.
        download: whether to download the archive where no path is given.

    Returns:
        Items are tuples of arrays: of the user number, gender (1 for women), age group and job, of the film number,
        categories and words of the title (int64; ``[1]`` but for the last two), and the rating from -3 to 5 (float64).

    Attributes:
        movie_info: dict of numbers to films.
        user_info: dict of numbers to users.
        categories_dict: numbers of the categories, in their order.
        movie_title_dict: numbers of the words of titles, in their order.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: another mode, no path without download, or a file with other lines.
        RuntimeError: the archive could not be downloaded.

    Example:
        >>> import paddle, tempfile, zipfile
        >>> path = tempfile.mkdtemp() + "/ml-1m.zip"
        >>> with zipfile.ZipFile(path, "w") as archive:
        ...     archive.writestr("ml-1m/movies.dat", "1::Toy Story (1995)::Comedy")
        ...     archive.writestr("ml-1m/users.dat", "7::F::25::3::48067")
        ...     archive.writestr("ml-1m/ratings.dat", "7::1::5::978300760")
        >>> ratings = paddle.text.Movielens(path, test_ratio=0.0)
        >>> [part.tolist() for part in ratings[0]]
        [[7], [1], [2], [3], [1], [0], [1, 0], [5.0]]
    """

    def __init__(
        self,
        data_file: str | None = None,
        mode: str = "train",
        test_ratio: float = 0.1,
        rand_seed: int = 0,
        download: bool = True,
    ) -> None:
        self.mode = _archives.mode_of(_OP, mode, ("train", "test"))
        self.test_ratio, self.rand_seed = test_ratio, rand_seed
        self.data_file = _archives.found(_OP, data_file, download, URL, MD5)
        with _archives.open_zip(_OP, self.data_file) as archive:
            self.movie_info = dict(self._rows(archive, "movies.dat", 3, self._movie))
            self.user_info = dict(self._rows(archive, "users.dat", 5, self._user))
            categories = {c for m in self.movie_info.values() for c in m.categories}
            words = {w for m in self.movie_info.values() for w in m.title.lower().split()}
            self.categories_dict = _archives.numbered(sorted(categories))
            self.movie_title_dict = _archives.numbered(sorted(words))
            draws = np.random.RandomState(rand_seed)
            wanted = self.mode == "test"
            rows = self._rows(archive, "ratings.dat", 4, self._rating)
            self.data = [row for row in rows if (draws.random_sample() < test_ratio) == wanted]

    @staticmethod
    def _rows(archive: Any, name: str, fields: int, make: Any) -> Iterator[Any]:
        path = f"ml-1m/{name}"
        with _archives.member(_OP, archive, path) as f:
            for number, line in _archives.lines(_OP, f, path, "latin-1"):
                parts = line.strip().split("::")
                try:
                    if len(parts) != fields:
                        raise ValueError(f"{len(parts)} fields")
                    yield make(parts)
                except (ValueError, KeyError) as error:
                    required = f"{fields} fields with :: between them"
                    raise _archives.wrong_line(_OP, path, number, required, f"{line!r} ({error})") from error

    @staticmethod
    def _movie(parts: list[str]) -> tuple[int, MovieInfo]:
        index, title, categories = parts
        match = _TITLE.match(title)
        if match is None:
            raise ValueError("a title without a year")
        return int(index), MovieInfo(index, categories.split("|"), match[1])

    @staticmethod
    def _user(parts: list[str]) -> tuple[int, UserInfo]:
        return int(parts[0]), UserInfo(*parts[:4])

    def _rating(self, parts: list[str]) -> list[list]:
        user, movie = self.user_info[int(parts[0])], self.movie_info[int(parts[1])]
        # From 1 to 5 stars to -3 to 5.
        rating = [[float(parts[2]) * 2 - 5.0]]
        return user.value() + movie.value(self.categories_dict, self.movie_title_dict) + rating

    def __getitem__(self, idx: int) -> tuple[np.ndarray, ...]:
        return tuple(np.array(d) for d in self.data[idx])

    def __len__(self) -> int:
        return len(self.data)
