"""Code generation: from traced expressions to straight-line programs, and from programs and routines
(compiled loops) to machine code or source text.

- `program`: straight-line code with named inputs and outputs. `derivative`: programs with directional
  derivatives.
- `statements`, `listing`: expressions, names and functions of a program as text.
- `routine`: loops around programs, written as Python functions in a typed subset.
- `targets`: the target languages.
- `formula`: expression trees of readable equations. `width`: their width in print. `paper`: their printers.
- `fingerprint`: digests of Python objects, used as cache keys. `files`: atomic writing of files. `cache`: the
  store on disk.
"""
