"""Loops over one axis: plain ones, and steps of vectors with an end that is masked or goes one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from umiak.compiler.loop.node import Node, is_const
from umiak.compiler.loop.tree import Axis, Store
from umiak.compiler.render.expressions import Lanes, Value
from umiak.compiler.render.memory import Memory
from umiak.compiler.render.plan import Plan
from umiak.compiler.render.text import spell

Texts = list[str]


class Loops(Memory):
    """Writes loops over one axis. ``body`` maps the loop-carried values to those of the next iteration."""

    def serial(
        self,
        axis: Axis,
        carried: Sequence[tuple[str, str]],
        body: Callable[[Texts], Texts],
        bounds: tuple[str, str] | None = None,
    ) -> Texts:
        lo, hi = bounds or (self.scalar(axis.lo), self.scalar(axis.hi))
        self.at = self.here()
        return self.counted(axis.index, lo, hi, axis.step, carried, body)

    def counted(
        self,
        index: Node,
        lo: str,
        hi: str,
        step: int,
        carried: Sequence[tuple[str, str]],
        body: Callable[[Texts], Texts],
        floor: int | None = None,
    ) -> Texts:
        """A plain loop; in it, ``index`` is a scalar."""

        def inner(at: str, now: Texts) -> Texts:
            self.inductions[index] = (lo, step)
            self.bind(index, Value(self.here(), at))
            results = body(now)
            del self.inductions[index]
            self.at = self.here()
            return results

        return self.loop(lo, hi, step, carried, inner, floor)

    def over_lanes(
        self,
        index: Node,
        lo: str,
        hi: str,
        plan: Plan,
        carried: Sequence[tuple[str, str]],
        size: int,
        body: Callable[[Texts], Texts],
    ) -> Texts:
        """Steps of vectors, then the end. ``body`` runs with ``lanes`` set, or without for one index of the end.

        ``carried``: ``size`` vectors per copy, of which a step uses those of its copies (0: a scan's, which all steps
        use), then, where the end is not masked, as many scalars for it. A scan's scalars follow from its vectors.
        """
        types = [t for t, _ in carried]
        scan = carried and not size
        count = len(carried) if plan.masked else len(carried) // 2 if scan else len(carried) - size
        self.at = self.here()

        def stages() -> Texts:
            floor, start = self.here(), lo
            now = [x for _, x in carried]
            w = plan.width

            def vectors(first: str, end: str, copies: int, masked: bool) -> None:
                used = count if scan else size * copies

                def step(at: str, values: Texts) -> Texts:
                    mask = None
                    if masked:
                        left = self.emit(f"sub i64 {end}, {at}")
                        most = left if w < 32 else self.call("i64", "llvm.smin.i64", [("i64", left), ("i64", str(w))])
                        mask = self.lane_numbers("ult", most, w)
                    return self.in_lanes(Lanes(index, self.here(), w, copies, at, first, mask), lambda: body(values))

                now[:used] = self.loop(first, end, w * copies, list(zip(types, now[:used])), step, floor)

            def last_multiple(first: str, span: int) -> str:
                part = self.emit(f"and i64 {self.emit(f'sub i64 {hi}, {first}')}, {-span}")
                return self.emit(f"add i64 {first}, {part}")

            for copies in plan.copies:
                end = last_multiple(start, w * copies)
                fits = self.aligned(plan.streaming, index, start, w)
                if fits is not None:
                    self.streams = True
                    upper = self.emit(f"select i1 {fits}, i64 {end}, i64 {start}")
                    vectors(start, upper, copies, False)
                    self.streams = False
                    start = upper
                vectors(start, end, copies, False)
                start = end
            if plan.masked:
                vectors(start, hi, 1, True)
                return now
            if scan:
                now[count:] = [self.emit(f"extractelement {t} {x}, i64 0") for t, x in zip(types, now[:count])]
            now[count:] = self.counted(index, start, hi, 1, list(zip(types[count:], now[count:])), body, floor)
            return now

        condition = self.emit(f"icmp slt i64 {lo}, {hi}")
        return self.guarded(condition, stages, carried)

    def first_lanes(self, count: str, width: int) -> str:
        """A mask of lanes: as many as ``count`` > 0 says, or all."""
        most = count if width < 32 else self.call("i64", "llvm.smin.i64", [("i64", count), ("i64", str(width))])
        return self.lane_numbers("ult", most, width)

    def in_lanes(self, lanes: Lanes, body: Callable[[], Texts]) -> Texts:
        """``body`` with an open LANE axis."""
        self.lanes = lanes
        self.bound[lanes.axis] = lanes.depth
        self.varying.add(lanes.axis)
        results = body()
        self.varying.discard(lanes.axis)
        self.lanes = None
        self.at = self.here()
        return results

    def aligned(self, streaming: Sequence[Store], index: Node, start: str, width: int) -> str | None:
        """i1: whether all these stores write whole aligned vectors from ``start`` on; None: they never do."""
        total = ""
        for s in streaming:
            b, parts = self.buffers[s.buffer], self.form(s.index, index)
            if parts is None or not is_const(parts[0], 1):
                return None
            pointer = self.address(b, parts[1])
            self.at = self.here()
            first = self.emit(f"getelementptr {spell(b.type, 0, True)}, ptr {pointer.scalar}, i64 {start}")
            bits = self.emit(
                f"and i64 {self.emit(f'ptrtoint ptr {first} to i64')}, {self.alignment(b.type, width) - 1}"
            )
            total = self.emit(f"or i64 {total}, {bits}") if total else bits
        return self.emit(f"icmp eq i64 {total}, 0") if total else None
