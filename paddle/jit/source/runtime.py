"""The helpers that rewritten code calls, by the names that they have there, as ``jst``."""

from paddle.jit.source.branches import choose, if_, then
from paddle.jit.source.builtins_ import copied
from paddle.jit.source.callees import call
from paddle.jit.source.convert import HELPERS
from paddle.jit.source.handing_on import called
from paddle.jit.source.hidden_state import flag_of, flagged
from paddle.jit.source.leaving import BREAK, CONTINUE, result, returned
from paddle.jit.source.logic import and_, compare, decided, not_, or_
from paddle.jit.source.loops import collect, for_, while_
from paddle.jit.source.namespaces import namespace
from paddle.jit.source.raising import assert_, raised, unpacked
from paddle.jit.source.values import is_none, is_none_by, is_none_of, read, truth

vars(HELPERS).update(
    BREAK=BREAK,
    CONTINUE=CONTINUE,
    and_=and_,
    assert_=assert_,
    call=call,
    called=called,
    choose=choose,
    collect=collect,
    compare=compare,
    copied=copied,
    decided=decided,
    flag_of=flag_of,
    flagged=flagged,
    for_=for_,
    if_=if_,
    is_none=is_none,
    is_none_by=is_none_by,
    is_none_of=is_none_of,
    namespace=namespace,
    not_=not_,
    or_=or_,
    raised=raised,
    read=read,
    result=result,
    returned=returned,
    then=then,
    truth=truth,
    unpacked=unpacked,
    while_=while_,
)
