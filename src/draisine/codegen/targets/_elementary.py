"""Sine, cosine and atan2 as LLVM text, for doubles and for vectors of doubles or singles.

Sine and cosine: a multiple of pi/2 is subtracted from the argument, with pi/2 as a sum of three numbers so
that the difference is accurate (Cody and Waite). On the remaining interval, polynomials with the coefficients
of fdlibm are evaluated. atan2 is that of the C library.
"""

import math

from draisine.codegen.targets._llvm import (
    entry_count,
    intrinsic_suffix,
    llvm_constant,
    same_shape_type,
    to_single,
)

_HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
"""pi/2 as a sum of three doubles, for the reduction of arguments."""

_HALF_PI_SINGLE = (
    to_single(_HALF_PI[0]),
    to_single(_HALF_PI[0] - to_single(_HALF_PI[0])),
    _HALF_PI[0] - to_single(_HALF_PI[0]) - to_single(_HALF_PI[0] - to_single(_HALF_PI[0])),
)
"""pi/2 as a sum of three numbers in single precision."""

_SIN = (
    -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
    2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10,
)  # fmt: skip
"""Coefficients of x^3, x^5, ..., x^13 in the polynomial of sin(x) on |x| <= pi/4 (fdlibm, k_sin.c)."""

_COS = (
    4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
    -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11,
)  # fmt: skip
"""Coefficients of x^4, x^6, ..., x^14 in the polynomial of cos(x) on |x| <= pi/4 (fdlibm, k_cos.c)."""


def write_elementary_functions(kind: str) -> str:
    """Return sine, cosine and atan2 as LLVM text for one type of operand."""
    s = intrinsic_suffix(kind)
    lines = [
        f"declare {kind} @llvm.fma.{s}({kind}, {kind}, {kind})",
        f"declare {kind} @llvm.rint.{s}({kind})",
        f"declare {kind} @llvm.sqrt.{s}({kind})",
        f"declare {kind} @llvm.exp.{s}({kind})",
    ]
    lines += [
        *_write_circular_function(kind, "sin", 0),
        *_write_circular_function(kind, "cos", 1),
        *_write_atan2(kind),
    ]
    return "\n".join(lines)


def _write_circular_function(kind: str, name: str, shift: int) -> list[str]:
    """Return LLVM text of the sine of x plus `shift` quarter turns."""
    return [
        f"define internal {kind} @draisine_{name}.{intrinsic_suffix(kind)}({kind} %x) alwaysinline {{",
        *_write_argument_reduction(kind),
        *_write_polynomials(kind),
        *_write_quadrant_selection(kind, shift),
        f"  ret {kind} %result",
        "}",
    ]


def _write_argument_reduction(kind: str) -> list[str]:
    """Return LLVM text of r1 + d = x - n pi/2 with the nearest integer n. The correction d is the rounding
    error of r1.
    """
    parts = _HALF_PI_SINGLE if "float" in kind else _HALF_PI
    s = intrinsic_suffix(kind)
    (high, middle, low) = (llvm_constant(kind, x) for x in parts)
    return [
        f"  %turns = fmul {kind} %x, {llvm_constant(kind, 2 / math.pi)}",
        f"  %n = call {kind} @llvm.rint.{s}({kind} %turns)",
        f"  %m = fneg {kind} %n",
        f"  %r0 = call {kind} @llvm.fma.{s}({kind} %m, {kind} {high}, {kind} %x)",
        f"  %r1 = call {kind} @llvm.fma.{s}({kind} %m, {kind} {middle}, {kind} %r0)",
        f"  %d0 = fsub {kind} %r0, %r1",
        f"  %d1 = call {kind} @llvm.fma.{s}({kind} %m, {kind} {middle}, {kind} %d0)",
        f"  %d = call {kind} @llvm.fma.{s}({kind} %m, {kind} {low}, {kind} %d1)",
    ]


def _write_polynomials(kind: str) -> list[str]:
    """Return LLVM text of sine and cosine of r1 + d by polynomials in Estrin's scheme.

    Estrin's chain of dependent operations is shorter than that of Horner's scheme.
    """
    s = intrinsic_suffix(kind)
    unit = llvm_constant(kind, 1.0)
    half = llvm_constant(kind, 0.5)
    body = [f"  %z = fmul {kind} %r1, %r1", f"  %zz = fmul {kind} %z, %z"]
    for tag, coefficients in (("p", _SIN), ("q", _COS)):
        for k in (0, 2, 4):
            low, high = (llvm_constant(kind, x) for x in coefficients[k : k + 2])
            line = f"call {kind} @llvm.fma.{s}({kind} %z, {kind} {high}, {kind} {low})"
            body.append(f"  %{tag}{k}{k + 1} = {line}")
        for upper, lower, both in (("45", "23", "25"), ("25", "01", "0")):
            line = f"{kind} %zz, {kind} %{tag}{upper}, {kind} %{tag}{lower}"
            body.append(f"  %{tag}{both} = call {kind} @llvm.fma.{s}({line})")
    return [
        *body,
        f"  %zr = fmul {kind} %z, %r1",
        f"  %half = fmul {kind} %z, {half}",
        f"  %minus_half = fneg {kind} %half",
        f"  %dc = call {kind} @llvm.fma.{s}({kind} %d, {kind} %minus_half, {kind} %d)",
        f"  %bend = call {kind} @llvm.fma.{s}({kind} %zr, {kind} %p0, {kind} %dc)",
        f"  %sine = fadd {kind} %r1, %bend",
        f"  %w = fsub {kind} {unit}, %half",
        f"  %e0 = fsub {kind} {unit}, %w",
        f"  %e = fsub {kind} %e0, %half",
        f"  %minus_r1 = fneg {kind} %r1",
        f"  %ed = call {kind} @llvm.fma.{s}({kind} %minus_r1, {kind} %d, {kind} %e)",
        f"  %tail = call {kind} @llvm.fma.{s}({kind} %zz, {kind} %q0, {kind} %ed)",
        f"  %cosine = fadd {kind} %w, %tail",
    ]


def _write_quadrant_selection(kind: str, shift: int) -> list[str]:
    """Return LLVM text that selects the sine or cosine of r1 + d, and its sign, by the number n + `shift` of
    quarter turns.
    """
    entry = "i32" if "float" in kind else "i64"
    integers = same_shape_type(kind, entry)
    flags = same_shape_type(kind, "i1")

    def integer_constant(n: int) -> str:
        """Return an integer constant as LLVM text."""
        return (
            str(n)
            if kind == "double"
            else "<" + ", ".join([f"{entry} {n}"] * entry_count(kind)) + ">"
        )

    return [
        f"  %k0 = fptosi {kind} %n to {integers}",
        f"  %k = add {integers} %k0, {integer_constant(shift)}",
        f"  %odd = and {integers} %k, {integer_constant(1)}",
        f"  %swap = icmp ne {integers} %odd, {integer_constant(0)}",
        f"  %value = select {flags} %swap, {kind} %cosine, {kind} %sine",
        f"  %two = and {integers} %k, {integer_constant(2)}",
        f"  %flip = icmp ne {integers} %two, {integer_constant(0)}",
        f"  %minus = fneg {kind} %value",
        f"  %result = select {flags} %flip, {kind} %minus, {kind} %value",
    ]


def _write_atan2(kind: str) -> list[str]:
    """Return LLVM text that calls atan2 of the C library, for each SIMD lane separately."""
    lines = [
        f"define internal {kind} @draisine_atan2.{intrinsic_suffix(kind)}"
        f"({kind} %y, {kind} %x) alwaysinline {{"
    ]
    if kind == "double":
        return [*lines, "  %v = call double @atan2(double %y, double %x)", "  ret double %v", "}"]
    previous = "undef"
    wide = same_shape_type(kind, "double")
    single = wide != kind
    lines += [f"  %{n}w = fpext {kind} %{n} to {wide}" for n in "yx" if single]
    for k in range(entry_count(kind)):
        lines += [
            f"  %y{k} = extractelement {wide} %y{'w' * single}, i32 {k}",
            f"  %x{k} = extractelement {wide} %x{'w' * single}, i32 {k}",
            f"  %v{k} = call double @atan2(double %y{k}, double %x{k})",
            f"  %r{k} = insertelement {wide} {previous}, double %v{k}, i32 {k}",
        ]
        previous = f"%r{k}"
    if single:
        lines.append(f"  %short = fptrunc {wide} {previous} to {kind}")
        previous = "%short"
    return [*lines, f"  ret {kind} {previous}", "}"]
