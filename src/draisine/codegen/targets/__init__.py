"""Target languages of programs and routines; each file has a function `emit` that writes a program.

- `native`: machine code. `_llvm`: compilation of LLVM text, with the cache. `_elementary`: sine and cosine as
  LLVM text. `_schedule`: order of the steps.
- `_llvm_routine`: routines as LLVM text. `_native_routine`: compiled routines as Python callables.
- `_text_routine`: routines as C and JavaScript, with the notations of `_dialects`. `_memory`: their records
  as data.
"""
