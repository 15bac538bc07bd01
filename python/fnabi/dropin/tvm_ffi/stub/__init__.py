"""The command ``tvm-ffi-stubgen``: writes type hints of what libraries register into source files.

A line of comment opens a block in a file, and another one closes it; the command writes what is
between them anew::

    # tvm-ffi-stubgen(begin): global/my_library
    # tvm-ffi-stubgen(end)

`cli` reads arguments and runs the steps, `file_utils` finds the blocks, `lib_state` reads what
libraries have registered, and a generator writes the text of a language.
"""
