"""Why a mode refuses programs or may differ: shared by the programs that it holds for."""

from __future__ import annotations

from tests.jit.corpus.registry import Allowance, Refusal

# What a whole function cannot be: all of it is one program, and there is no Python between two parts of it.
READS = {
    "source": Refusal(
        "Python reads data of tensors, which a program has only when it runs",
        "not known while|are read while|a text is made of",
    )
}
STATE = {"source": Refusal("Python state is changed, which a program would not do", "changes Python state")}
SEED = {"source": Refusal("a program would not set the seed", "paddle.seed stands in")}
BREAKS = {"source": Refusal("what it calls can be no part of a program, and no Python runs in between", "as one graph")}
GENERATOR = {"source": Refusal("a generator goes on in a branch on a tensor", "not known while|as one graph")}
# Branches and loops on tensors are operations, whose results have one structure.
GROWS = {"source": Refusal("how long a list of texts is depends on data", "tensors of one shape and dtype, or numbers")}
STRUCTURE = {
    "source": Refusal("which structure or shape a value has depends on data", "one structure, shape and dtype")
}
CONDITION = {"source": Refusal("which case is taken depends on data", "a condition that is known")}
COUNT = {"source": Refusal("how many random numbers nested branches draw depends on data", "as many random numbers")}

OF_SIZES = {"bytecode": Allowance("numbers that NumPy makes of sizes are numbers of Python", "sizes")}
NUMBERS = {"source": Allowance("a number that a branch or loop on tensors changes is a tensor", "numbers")}
COPIES = {"source": Allowance("results of a program are objects of their own, even where they are arguments", "copies")}
ZEROS = {"source": Allowance("a gradient that the branch taken did not use is zeros", "zeros")}
ZEROS_AND_COPIES = {"source": Allowance("as above, and results are objects of their own", "zeros copies")}
NUMBERS_AND_COPIES = {"source": Allowance("numbers are tensors, and results objects of their own", "numbers copies")}

# Documented in docs/design/capture.md.
KEPT = {"bytecode": "guards hold the layers that a function was captured for, at most 32 of one function"}
KEPT_AS_EVER = {"source": KEPT["bytecode"]}
PRINTED = {"source": "a number that a loop on a tensor changes is a tensor, and printed as one"}
ITEMS = {"source": "item() of a tensor is a tensor, in Python's state too"}
ARRAYS = {"source": "an array from outside is a tensor inside"}
NO_ITERATION = {"source": "whether gradients flow through a loop does not depend on how many iterations it has"}
