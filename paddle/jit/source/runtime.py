"""The helpers that rewritten code calls, by the names that they have there, as ``jst``."""

from paddle.jit.source.branches import choose, if_, then
from paddle.jit.source.callees import call
from paddle.jit.source.convert import HELPERS
from paddle.jit.source.leaving import BREAK, CONTINUE, result, returned
from paddle.jit.source.logic import and_, compare, decided, not_, or_
from paddle.jit.source.loops import collect, for_, while_
from paddle.jit.source.raising import assert_, raised
from paddle.jit.source.values import read, truth

vars(HELPERS).update(
    BREAK=BREAK,
    CONTINUE=CONTINUE,
    and_=and_,
    assert_=assert_,
    call=call,
    choose=choose,
    collect=collect,
    compare=compare,
    decided=decided,
    for_=for_,
    if_=if_,
    not_=not_,
    or_=or_,
    raised=raised,
    read=read,
    result=result,
    returned=returned,
    then=then,
    truth=truth,
    while_=while_,
)
