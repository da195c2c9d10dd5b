"""Ratings of films: lists of user, gender, age group, job, film, categories, words of the title, and rating."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from paddle.dataset import common
from paddle.text.datasets.movielens import MD5, URL, MovieInfo, Movielens, UserInfo, age_table

_NUMBERS = 5  # fields of a sample that are numbers; the others are lists


def _path() -> str:
    return common.download(URL, "movielens", MD5)


@functools.lru_cache(maxsize=1)
def _ratings(path: str, mode: str = "train") -> Movielens:
    return Movielens(path, mode)


def _reader(mode: str) -> common.Reader:
    ratings = _ratings(_path(), mode)

    def read() -> Iterator[list]:
        for row in ratings.data:
            yield [part[0] for part in row[:_NUMBERS]] + row[_NUMBERS:]

    return read


def train() -> common.Reader:
    """Reader of nine tenths of the ratings."""
    return _reader("train")


def test() -> common.Reader:
    """Reader of the other ratings."""
    return _reader("test")


def get_movie_title_dict() -> dict[str, int]:
    """Numbers of the words of titles."""
    return _ratings(_path()).movie_title_dict


def movie_categories() -> dict[str, int]:
    """Numbers of the categories."""
    return _ratings(_path()).categories_dict


def movie_info() -> dict[int, MovieInfo]:
    """Films by their numbers."""
    return _ratings(_path()).movie_info


def user_info() -> dict[int, UserInfo]:
    """Users by their numbers."""
    return _ratings(_path()).user_info


def max_movie_id() -> int:
    """The largest number of a film."""
    return max(movie_info())


def max_user_id() -> int:
    """The largest number of a user."""
    return max(user_info())


def max_job_id() -> int:
    """The largest number of a job."""
    return max(user.job_id for user in user_info().values())


def fetch() -> None:
    """Download the archive."""
    _path()
