"""heyoka: Taylor series of adaptive order, compiled by LLVM."""

import heyoka

from beside._work import UNTIL

MODULE, NAME = "heyoka", "heyoka, Taylor, 1e-10"
NOTE = (
    "the operations of draisine's program as expressions, unrolled code (no compact mode); no projection, "
    "no samples"
)


def expressions(program, symbols):
    """Return the rates as heyoka's expressions."""
    functions = {"sin": heyoka.sin, "cos": heyoka.cos, "sqrt": heyoka.sqrt, "exp": heyoka.exp}
    values = []
    for step in program.steps:
        op, *args = step
        if op == "const":
            values.append(heyoka.expression(args[0]))
        elif op == "input":
            values.append(symbols[args[0]][args[1]])
        else:
            xs = [values[k] for k in args]
            match op:
                case "add":
                    values.append(xs[0] + xs[1])
                case "sub":
                    values.append(xs[0] - xs[1])
                case "mul":
                    values.append(xs[0] * xs[1])
                case "neg":
                    values.append(-xs[0])
                case "inv":
                    values.append(1.0 / xs[0])
                case _:
                    values.append(functions[op](*xs))
    return [values[k] for k in program.outputs["rate"]]


def prepare(work):
    """Return its jobs."""
    machine = work.system.machine()
    program, at = machine.programs["rate"], machine.layout
    y = heyoka.make_vars(*[f"y{k}" for k in range(len(work.y))])
    numbers = {k: [heyoka.expression(0.0)] * n for k, n in program.inputs.items()}
    numbers["parameters"] = [heyoka.expression(float(x)) for x in work.system.values]
    numbers |= {name: y[getattr(at, name)] for name in ("q", "p", "r", "u")}
    rates = expressions(program, numbers)
    given = list(zip(y, rates, strict=True))
    integrator = heyoka.taylor_adaptive(given, work.y.tolist(), tol=1e-10)

    def run():
        integrator.time = 0.0
        integrator.state[:] = work.y
        integrator.propagate_until(UNTIL)
        return integrator.state[work.steer_entry]

    return {"run": run}
