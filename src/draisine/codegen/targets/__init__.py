"""Target languages of programs, one file each with a function `emit`.

`native`: machine code. `_llvm`: compilation of LLVM text, with the cache. `_elementary`: sine and cosine as
LLVM text. `_schedule`: order of the steps. `_native_routine`: compiled routines as Python callables.
`_llvm_routine`: routines as LLVM text. `_text_routine`: routines as C and JavaScript, with the notations of
`_dialects`; `_memory`: their records as data.
"""
