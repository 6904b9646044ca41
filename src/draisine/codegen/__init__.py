"""From traced expressions to programs, and from programs to text or machine code.

`program`: straight-line code with named inputs and outputs. `derivative`: its tangent.
`statements` and `listing`: how a program is cut and named as text. `routine`: loops around
programs, as plain Python in a typed subset. `targets`: the languages.
`formula`: a page of readable equations as a tree, `width`: how wide it is set, `paper`: its
printers. `fingerprint`: the digest of what a program was derived from. `files`: files made
whole or not at all, `cache`: the store on disk.
"""
