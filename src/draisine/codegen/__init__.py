"""Code generation: from traced expressions to programs, and from programs to text or machine code.

`program`: straight-line code with named inputs and outputs. `derivative`: programs with tangents.
`statements` and `listing`: expressions, names and pieces of a program as text. `routine`: loops around
programs, written as Python functions in a typed subset. `targets`: the target languages. `formula`:
expression trees of readable equations, `width`: their width in print, `paper`: their printers.
`fingerprint`: digests of Python objects, the keys of the cache. `files`: atomic writing of files, `cache`:
the store on disk.
"""
