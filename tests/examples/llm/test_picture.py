"""The picture of the cache in the guide is of real tables."""

import xml.etree.ElementTree as ET
from pathlib import Path

PICTURE = Path(__file__).parents[3] / "docs" / "guide" / "pictures" / "cache.svg"


def shown(llm):
    """A pool and texts; ``PICTURE.write_text(llm.picture.svg(*shown(llm)))`` draws them anew."""
    pool = llm.paging.Pool(24, 4)

    def written(tokens, table=None):
        """A table that holds these tokens, from blocks of earlier ones where there are such."""
        table = table or llm.paging.Table(pool)
        if not table.length:
            table.take_over(table.known_blocks(tokens))
        before = table.length
        table.reserve(len(tokens) - before)
        table.length = len(tokens)
        table.tell(tokens, before)
        return table

    preamble = list(range(9))
    ended = written([50, 51, 52, 53, 54, 55, 56, 57, 58])
    first, second = written([*preamble, 20, 21, 22, 23, 24]), written([*preamble, 30, 31])
    beam = written([40, 41, 42, 43, 44, 45])
    other = beam.fork()
    written([40, 41, 42, 43, 44, 45, 46, 47, 48], other)
    ended.clear()
    return pool, {"a text": first, "begins alike": second, "a beam": beam, "its fork": other}


def test_the_picture_of_the_guide_is_up_to_date(llm):
    pool, tables = shown(llm)
    text = llm.picture.svg(pool, tables)
    assert PICTURE.read_text() == text
    first, second, beam, other = (t.blocks for t in tables.values())
    assert first[:2] == second[:2] and first[2] != second[2] and beam[0] == other[0] and beam[1] != other[1]
    names = [e.text for e in ET.fromstring(text).iter("{http://www.w3.org/2000/svg}text")]
    assert [n for n in names if n in tables] == list(tables)
    used = [str(b) for t in tables.values() for b in t.blocks]
    assert sorted(n for n in names if n.isdigit()) == sorted([*map(str, range(pool.count)), *used])
    assert f"24 blocks of 4 tokens, {pool.free} free" in names and pool.free == 24 - len(set(used))


def test_a_pool_without_texts(llm):
    assert llm.picture.svg(llm.paging.Pool(3, 2), {}).count("<rect") == 1 + 3 + 3
