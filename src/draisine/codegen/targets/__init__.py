"""Ways to write a program out, one file each with a function `emit`.

`_llvm`: LLVM text as machine code, kept; `_elementary`: sine and cosine in it. `_schedule`: the
order of steps. `_native_routine`: routines as functions to call, `_llvm_routine`: as LLVM text,
`_text_routine`: as C and JavaScript, whose notations `_dialects` has.
"""
