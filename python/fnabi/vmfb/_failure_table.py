"""The failures of IREE's runtime that are known, with how each release words them.

A pattern is a regular expression. What varies in a message is a named group of bounded length, so
that a search takes time linear in the text. `tests/data/failures` has what releases print.
"""

from __future__ import annotations

import re

import msgspec


class Failure(msgspec.Struct, frozen=True):
    """A kind of failure.

    Attributes:
        name: A short fixed name, such as ``"bytecode-version"``.
        title: What failed, as a phrase.
        meaning: What that means.
        remedy: What to do.
        patterns: How the runtime words it.

    """

    name: str
    title: str
    meaning: str
    remedy: str
    patterns: tuple[re.Pattern[str], ...]


_GROUP = re.compile(r"<(?!vm>)(\w+)(:[nhwltmp])?>")


_FIXED: dict[re.Pattern[str], str] = {}


def fixed_part(pattern: re.Pattern[str]) -> str:
    """Return the longest part of a pattern that does not vary."""
    return _FIXED[pattern]


def _pattern(text: str) -> re.Pattern[str]:
    """Compile a message, in which ``<name>`` is a group of some text without quotes.

    ``<name:n>`` is a number, ``<name:h>`` a hexadecimal one, ``<name:w>`` a word without spaces and
    quotes, ``<name:l>`` the rest of a clause, ``<name:t>`` text up to what follows in the line,
    ``<name:m>`` the name of a module's file, ``<name:p>`` a phrase of plain words.
    """
    kinds = {
        None: r"[^'`\n]{0,300}",
        ":n": r"-?\d{1,20}",
        ":w": r"[^\s;,'`\"\\]{1,300}",
        ":h": r"[0-9A-Fa-f]{1,16}",
        ":l": r"[^;\n]{1,400}",
        ":t": r"[^\n]{1,400}?",
        ":m": r"[^'`\n]{0,300}\.vmfb",
        ":p": r"[\w()-](?: ?[\w()-]){0,200}",
    }
    # A word begins where one can: were each letter a beginning, long words would take long.
    parts = [r"(?<![^\s;,'`\"\\])"] if re.match(r"<\w+:w>", text) else []
    at = 0
    for found in _GROUP.finditer(text):
        parts.append(re.escape(text[at : found.start()]))
        parts.append(f"(?P<{found[1]}>{kinds[found[2]]})")
        at = found.end()
    made = re.compile("".join([*parts, re.escape(text[at:])]))
    _FIXED[made] = max(_GROUP.sub("\0", text).split("\0"), key=len)
    return made


_INSTALL = (
    "Install the runtime of a release that loads the module (`fnabi verify --runtime all FILE`)"
)
_COMPILE = "compile the source again with the compiler of the release that runs it"


def _failure(name: str, title: str, meaning: str, remedy: str, *patterns: str) -> Failure:
    return Failure(name, title, meaning, remedy, tuple(map(_pattern, patterns)))


FAILURES = (
    # ------------------------------------------------------------------------ the file
    _failure(
        "module-file",
        "the module's file cannot be opened",
        "There is no such file, or it cannot be read; the path is relative to the folder in which"
        " the program runs.",
        "Correct the path that is given to `--module=` or `VmModule.mmap`.",
        "failed to open file '<file>'; loading bytecode module",
        "No such file or directory: '<file:m>'",
    ),
    _failure(
        "module-identifier",
        "the file is not a module",
        "The data lacks the identifier `IREE` of a compiled module: it is another kind of file, or"
        " it was cut or changed on its way.",
        "`fnabi inspect FILE` says what the file is. Load what `iree-compile` wrote, as bytes.",
        "FlatBuffer verification failed: identifier mismatch",
    ),
    _failure(
        "module-size",
        "the file ends before the module does",
        "The data is shorter than the size at its beginning, or empty: a download or a copy stopped"
        " early, the wrong part of a file was read, or the file is no module, such as a text, whose"
        " first four bytes the runtime takes for the size.",
        "`fnabi inspect FILE` says what the file is. Get it again, and compare its size with that"
        " of the original.",
        "FlatBuffer data is not present or less than <least:n> bytes (<size:n> total)",
        "rodata[<segment:n>] external reference out of range",
        "FlatBuffer length prefix out of bounds (prefix is <wanted:n> but only <size:n> available)",
    ),
    _failure(
        "executable-damaged",
        "an executable in the module is damaged",
        "The module itself was loaded, and a driver refused the code for a device that is in its"
        " read-only data: its container is not what its format demands.",
        "`fnabi inspect --rodata` lists the executables. Get the file again, or " + _COMPILE + ".",
        "FlatBuffer verification failed: <fault:p>; while invoking native function"
        " hal.executable.create",
        "data provided does not contain the ELF identifier",
        "ELF data provided (<size:n>) is smaller than ehdr (<least:n>)",
        "exported symbol with name 'iree_hal_executable_library_query' not found in module",
    ),
    _failure(
        "module-damaged",
        "the module is damaged",
        "The FlatBuffer of the module has an offset, a size or a field that cannot be: the file was"
        " changed after it was compiled, or is of a schema from before March 2023.",
        "`fnabi verify FILE` says which byte is wrong. Get the file again, or " + _COMPILE + ".",
        "FlatBuffer verification failed: <fault:p>",
    ),
    _failure(
        "module-tables",
        "the tables of the module are damaged",
        "A table of the module lacks a name, or has numbers that contradict those of another one,"
        " which no compiler writes: the file was changed after it was compiled, or made by hand.",
        "`fnabi verify FILE` lists what is wrong. Get the file again, or " + _COMPILE + ".",
        "module missing name field",
        "types[<entry:n>] missing name",
        "imports[<entry:n>] missing full_name",
        "exports[<entry:n>] missing local_name",
        "dependencies[<entry:n>] has no module name",
        "exports[<entry:n>] internal_ordinal out of bounds (0 < <has:n> < <most:n>)",
        "function signature and descriptor table length mismatch (<signatures:n> vs"
        " <descriptors:n>)",
        "functions[<entry:n>] descriptor block count is 0",
        "functions[<entry:n>] descriptor bytecode reports 0 length",
        "functions[<entry:n>] descriptor bytecode span out of range",
        "invalid descriptor block count <wanted:n>; found <has:n> blocks",
        "RESOURCE_EXHAUSTED; register count overflow",
    ),
    _failure(
        "module-alignment",
        "the module is not aligned in memory",
        "A module that is read in place begins at an address that is a multiple of 64. Bytes of"
        " Python, and parts of them, begin anywhere.",
        "Load it with `VmModule.mmap(instance, path)`, or copy it with `VmModule.copy_buffer`.",
        "received an unaligned buffer. Got <address:w>, expected alignment <alignment:n>",
    ),
    # -------------------------------------------------------------------- its bytecode
    _failure(
        "bytecode-version",
        "the runtime reads another version of bytecode",
        "Compiler and runtime are of releases that are too far apart. A runtime reads the bytecode"
        " of one major version alone, neither newer nor older.",
        f"{_INSTALL}, or {_COMPILE}.",
        "bytecode version mismatch; runtime supports <has:w>, module has <wanted:w>",
    ),
    _failure(
        "bytecode-features",
        "the runtime lacks features of the bytecode",
        "The module requires parts of the instruction set, such as f64, that this runtime does not"
        " have: it is older than the compiler, or was built without them.",
        "Install a newer runtime, or compile without the feature, such as with"
        " `--iree-vm-target-extension-f64=false`.",
        "required module features [<wanted>] are not available in this runtime configuration;"
        " have [<has>] while module requires [<required:w>]",
    ),
    _failure(
        "type-missing",
        "the runtime does not know a type of the module",
        "The module names a type that nothing has registered: one of a newer or older release, or"
        " of a module of the host's own that was not created.",
        "Create the module that registers the type first, or use a release that has it.",
        "no type registered with name '<type>'",
    ),
    _failure(
        "opcode-unknown",
        "the runtime does not know an instruction of the module",
        "The bytecode has an instruction that was added later, or the code is damaged.",
        "`fnabi verify --runtime all FILE` names the releases that have it. Otherwise "
        + _COMPILE
        + ".",
        "INVALID_ARGUMENT; unrecognized opcode <opcode:n>; at <module:w>@<function:n>+<offset:h>",
        "INVALID_ARGUMENT; unhandled ext <page:w> opcode <opcode:w>; at"
        " <module:w>@<function:n>+<offset:h>",
        "INVALID_ARGUMENT; unhandled ext opcode; at <module:w>@<function:n>+<offset:h>",
    ),
    _failure(
        "bytecode-damaged",
        "the bytecode of a function is damaged",
        "The runtime checks each function when it loads a module, and found code that no compiler"
        " writes. The text after the last semicolon is the function's number and the offset in it.",
        "`fnabi verify FILE` lists what is wrong. Get the file again, or " + _COMPILE + ".",
        "INVALID_ARGUMENT; <fault:t>; at <module:w>@<function:n>+<offset:h>",
    ),
    # --------------------------------------------------------------- what it is linked to
    _failure(
        "module-missing",
        "a module that it depends on is not registered",
        "A module calls functions of others, such as `hal`, which the host registers before it."
        " One of them is absent, comes later, or is not part of this build.",
        "Register the named module before this one: `create_hal_module`,"
        " `create_io_parameters_module`, a second `--module=`, or a module of your own.",
        "required module '<module>' not registered on the context",
        "required module '<module>' not available in the build",
        "module '<module>' required for import '<function>' not registered with the context",
    ),
    _failure(
        "module-version",
        "a module that it depends on is too old",
        "The module was compiled for a later version of a system module than the runtime has. The"
        " version counts changes of its functions.",
        f"{_INSTALL}, or {_COMPILE}.",
        "required module '<module>' version mismatch; have <has:n> but require <wanted:n>",
    ),
    _failure(
        "import-missing",
        "an imported function does not exist",
        "The module imports a function that the other module of this runtime does not export: it"
        " was added later, or removed since.",
        "Install the runtime of a release that has it, or " + _COMPILE + ".",
        "no function `<function>` exported by module `<module>`",
        "no function <name:w> exported by module; resolving",
    ),
    _failure(
        "import-signature",
        "an imported function has other arguments",
        "Both sides have the function, with different calling conventions: it got or lost an"
        " argument between the release that compiled the module and the one that runs it.",
        f"{_INSTALL}, or {_COMPILE}.",
        "import function <name:w> signature mismatch between <importer:w> and source <module:w>;"
        " expected <wanted:w> but got <has:w>",
    ),
    # ------------------------------------------------------------------ its executables
    _failure(
        "executable-format",
        "no driver loads this format of executables",
        "The code for the device is in a format that the driver in use does not take: it is for"
        " another kind of device or processor. Newer releases, such as 3.6.0, say the same of"
        " native code without the entry point that they ask for.",
        "Run it on the device that it was compiled for (`--device=`), or compile for this one"
        " (`--iree-hal-target-device=`).",
        "no executable loader registered for the given executable format '<format>'",
    ),
    _failure(
        "executable-version",
        "an executable needs another version of the runtime",
        "The native code in the module and the runtime share an interface, whose version changes"
        " between releases. The code is newer or older than what this runtime offers.",
        f"{_INSTALL}, or {_COMPILE}.",
        "executable does not support this version of the runtime (<has:w>)",
    ),
    _failure(
        "executable-machine",
        "an executable is for another processor",
        "The native code in the module was compiled for another machine than the one that runs it.",
        "Compile with `--iree-llvmcpu-target-triple=` of this machine.",
        "ELF machine specification (<machine:w>) does not match the running architecture",
    ),
    _failure(
        "executable-entry",
        "a VMVX executable has another calling convention",
        "The portable code in the module was compiled for a runtime that calls it with other"
        " arguments.",
        f"{_INSTALL}, or {_COMPILE}.",
        "executable entry point does not match the expected calling convention; expected '<wanted>'"
        " but got '<has>'",
    ),
    # ---------------------------------------------------------------------- devices
    _failure(
        "device-missing",
        "no device runs the module",
        "When it starts, the module looks for a device that it was compiled for, and no device that"
        " the host registered is of that kind or takes its executables.",
        "Open the device that it was compiled for (`--device=`), or compile for this one"
        " (`--iree-hal-target-device=`).",
        '<vm>:0: INCOMPATIBLE; HAL device `<name>` not found or unavailable: #hal.device.target<"'
        '<device:w>"',
        "<vm>:0: INCOMPATIBLE; HAL device `<name>` not found or unavailable",
    ),
    _failure(
        "driver-missing",
        "there is no driver of this name",
        "The name before `://` in the device is that of no driver that this build of the runtime"
        " has, or it is misspelled.",
        "`iree-run-module --list_drivers` and `iree.runtime.query_available_drivers()` list them.",
        "no driver '<driver>' registered",
    ),
    _failure(
        "driver-library",
        "the system library of a driver is missing",
        "The driver is part of the runtime, and needs a library of the device's vendor, which is"
        " not installed or not found.",
        "Install the vendor's driver, add its folder to `LD_LIBRARY_PATH`, or run on the CPU with"
        " `--device=local-task` if the module was compiled for it.",
        "<driver:w> driver library '<library:w>'/'<other:w>' not available",
        "<driver:w> runtime library '<library:w>'/'<other:w>' not available",
        "<driver:w> runtime library not available; ensure installed",
        "<driver:w> loader library not found; ensure it is installed",
    ),
    _failure(
        "device-path",
        "the device has no such path",
        "The part after `://` chooses one of several devices. This driver has a single one, without"
        " a path.",
        "Leave out what is after the driver's name: `--device=local-task`.",
        "device paths not yet implemented; creating device '<device>'",
    ),
    _failure(
        "device-list",
        "none of the devices that were named can be opened",
        "`load_vm_flatbuffer_file(driver=...)`, `Config` and `IREE_DEFAULT_DEVICE` name devices to"
        " try. This build has no driver of such a name, the driver's system library is missing, or"
        " it has no device of that path. The runtime drops the reason.",
        "`iree.runtime.get_device(NAME)` says why, and `iree.runtime.query_available_drivers()`"
        " lists the drivers of this build.",
        "No device found from list [<devices:t>]",
    ),
    # ------------------------------------------------------------------------ calls
    _failure(
        "function-missing",
        "the module has no such function",
        "The name is not among the exports of the module. Functions of a class or of a package have"
        " longer names, and an asynchronous function is exported as `NAME$async` too.",
        "`fnabi inspect FILE` lists the functions; give the name to `--function=` or"
        " `lookup_function` as it is there.",
        "no function `<function>` exported by module; looking up",
        "function with the given name not found; looking up function '<function>'",
        "'NoneType' object has no attribute 'reflection'",
    ),
    _failure(
        "function-unnamed",
        "no function was named, and the module has several",
        "`iree-run-module` runs the only function of a module by itself.",
        "Give `--function=NAME`; `fnabi inspect FILE` lists the functions.",
        "more than one exported function present; --function= must be specified explicitly",
    ),
    _failure(
        "module-unnamed",
        "no module was named",
        "The program was started without a file.",
        "Give `--module=FILE`.",
        "no user module specified; use --module=",
    ),
    _failure(
        "argument-count",
        "the call has too many or too few arguments",
        "The function takes a fixed number of values. What is nested in a model of torch or JAX"
        " counts with each of its leaves, and an asynchronous function takes two fences besides.",
        "`fnabi inspect --function=NAME --inputs FILE` prints flags that call the function.",
        "input list and function mismatch; expected <wanted:n> arguments but passed <has:n>",
        "function expected fewer input values",
    ),
    _failure(
        "argument-kind",
        "an argument is of the wrong kind",
        "The function takes a number where it was given a tensor or another object, or the other"
        " way round.",
        "`fnabi inspect FILE` shows which arguments are tensors and which are numbers: pass arrays"
        " for tensors, also where they have no dims.",
        "runtime/src/iree/vm/list.c:<line:n>: FAILED_PRECONDITION",
        "invalid tensor specification, requires at least a shape/type",
    ),
    _failure(
        "argument-value",
        "an argument has no form in the runtime",
        "The package of Python passes numbers, arrays, lists and dicts, and arrays of numbers only."
        " Texts and objects have no counterpart.",
        "Convert it to an array with a dtype that `fnabi inspect FILE` shows.",
        "could not convert python value to VM: <value:l>",
        "could not map dtype <dtype:l> to element type",
    ),
    _failure(
        "input-text",
        "an input on the command line is malformed",
        "The text after `--input=` is a shape and a type, `2x3xf32`, and, after `=`, either one"
        " value for all elements, one for each, or the file of their bytes, `@x.bin`. Where the"
        " function takes a number, it is the value alone. An `.npy` file has its shape and type.",
        "`fnabi inspect --function=NAME --inputs FILE` prints flags in this form.",
        "unhandled element type prefix in '<type>'",
        "shape[<dim:n>] invalid value '<value>' of '<shape>'",
        "no value specified for input",
        "parsing value `<value>` as <type:w>",
        "INVALID_ARGUMENT; parsing input `<input>`",
        "INVALID_ARGUMENT; parsing input",  # one that is long
        "INVALID_ARGUMENT; parsing value '<input>'",
        "only numpy (.npy) files are supported for metadata-less variant I/O",
        "npy header magic mismatch",
        "input data string underflow: dst_i=<has:n> < element_capacity=<wanted:n>",
    ),
    _failure(
        "input-file",
        "the file of an input cannot be opened",
        "An input names a file, `--input=@x.npy`, that does not exist or cannot be read.",
        "Correct the path, which is relative to the folder in which the program runs.",
        "unable to open file `<file>` with mode <mode:n>; parsing",
        "failed to open file '<file>'; parsing",
    ),
    _failure(
        "output-file",
        "the file of a result cannot be written",
        "A result goes to a file, `--output=@y.npy`, in a folder that does not exist or cannot be"
        " written to. The function has run.",
        "Correct the path, which is relative to the folder in which the program runs.",
        "unable to open file `<file>` with mode <mode:n>; outputting",
        "failed to open file '<file>'; outputting",
    ),
    _failure(
        "output-text",
        "an output on the command line is malformed",
        "The text after `--output=` is empty, `-` or a file after `@` or `+`, and this one is none"
        " of them. The function has run.",
        "Give `--output=@FILE` to write the result to a file, `--output=+FILE` to append it,"
        " `--output=-` to print it, or `--output=` to drop it.",
        "unsupported output mode specification '<output>'",
    ),
    _failure(
        "view-length",
        "a function makes a tensor that is larger than its memory",
        "The sizes in the code contradict each other: a compiler has changed the type of elements"
        " on one side only, as its default flags do with 64-bit numbers of torch.",
        "`fnabi verify FILE` names the functions. Compile again with the flags that keep 64-bit"
        " types, `--iree-input-demote-f64-to-f32=false` and `--iree-input-demote-i64-to-i32=false`,"
        " or give the model narrower types.",
        "buffer view byte length <wanted:n> exceeds backing buffer byte length <has:n>",
    ),
    _failure(
        "buffer-type",
        "an argument has another element type",
        "A tensor was given with elements of another type than the function was compiled for. The"
        " runtime converts nothing.",
        "Convert the array, as with `x.astype(...)`, or give the type in `--input=`.",
        "<input:w> element type mismatch; expected <wanted:w> (<wanted_code:w>) but have <has:w> ("
        "<has_code:w>)",
    ),
    _failure(
        "buffer-dim",
        "an argument has another shape",
        "A dim of a tensor is fixed in the module, and that of the argument differs.",
        "Reshape or pad the array, or compile with a dynamic dim there (`?`).",
        "<input:w> shape dimension <dim:n> mismatch; expected <wanted:n> but have <has:n>",
    ),
    _failure(
        "buffer-rank",
        "an argument has another number of dims",
        "A tensor was given with more or fewer dims than the function was compiled for.",
        "Reshape the array: a batch of one needs a dim of 1 in front.",
        "<input:w> shape rank mismatch; expected <wanted:n> but have <has:n>",
    ),
    _failure(
        "buffer-size",
        "the memory of an argument is too small",
        "The buffer behind a tensor has fewer bytes than its shape and type need.",
        "Pass a buffer of the whole tensor; of storage that the caller provides, what"
        " `fnabi inspect FILE` states.",
        "<input:w> buffer byte length <has:n> less than expected minimum <wanted:n>",
    ),
    _failure(
        "buffer-memory",
        "the memory of an argument is of the wrong kind",
        "The buffer was allocated for another use or in other memory than the function demands,"
        " such as the host's where a device reads it.",
        "Allocate it with `BufferUsage.DEFAULT` and `MemoryType.DEVICE_LOCAL`, or let"
        " `iree.runtime.asdevicearray` do so.",
        "<input:w> buffer memory type is not compatible; buffer has <has:w>, operation requires"
        " <wanted:w>",
    ),
    _failure(
        "reference-null",
        "a function was given nothing where it needs an object",
        "A reference is null: an argument was left out, or a buffer was released before.",
        "Pass an object for each argument that is a reference.",
        "INVALID_ARGUMENT; ref is null",
    ),
    _failure(
        "reference-type",
        "a function was given an object of another type",
        "A reference is of another type than the function takes, such as a list for a tensor.",
        "`fnabi inspect FILE` shows the types of the arguments.",
        "INVALID_ARGUMENT; ref type mismatch",
    ),
    _failure(
        "range",
        "an access is outside its buffer",
        "Code of the module reads or writes beyond the end of a buffer: dims or indices among the"
        " arguments are larger than the data, or do not fit each other.",
        "Check integers that are used as positions, and dims that must be equal.",
        "out-of-bounds access detected (offset=<offset:n>,",
        "attempted to access an address off the end of the valid buffer range (offset=<offset:n>,",
        "attempted to access an address outside of the valid buffer range (offset=<offset:n>,",
    ),
    _failure(
        "memory",
        "there is not enough memory",
        "An allocation failed. A huge size usually comes from a dim or an index among the"
        " arguments that is not what the function expects.",
        "Compare the size with what `fnabi inspect FILE` says that a call allocates; run smaller"
        " batches.",
        "RESOURCE_EXHAUSTED; <text:l>; failed to allocate buffer of length <size:n>",
        "failed to allocate buffer of length <size:n>",
        "RESOURCE_EXHAUSTED; <text:l>",
    ),
    # -------------------------------------------------------------------- parameters
    _failure(
        "parameter-file",
        "a file of parameters cannot be opened",
        "There is no such file, or it cannot be read; the path is relative to the folder in which"
        " the program runs.",
        "Correct the path that is given to `--parameters=`.",
        "failed to open file '<file>'; resolving dependencies",
    ),
    _failure(
        "parameter-format",
        "a file is none of parameters",
        "The runtime goes by the end of the file's name, and reads `.irpa`, `.gguf` and"
        " `.safetensors`. The name ends otherwise, or what is in the file is not of that format: it"
        " is empty, cut or damaged, or of another kind.",
        "Give the file with the parameters to `--parameters=`. Get it again if it has to be the"
        " right one, and rename it if only its name ends otherwise.",
        "unsupported file format `<format>`; ensure the extension matches",
        "<format:w> file magic missing or invalid <has:h>; expected <wanted:h>",
        "insufficient capacity for <format:w> header contents (declared as <wanted:n> but only"
        " <has:n> bytes available)",
        "failed to map file handle range <start:n>-<end:n> (<wanted:n> bytes) from file of <has:n>"
        " total bytes; resolving dependencies",
        "mmap failed; resolving dependencies",
    ),
    _failure(
        "parameter-scope",
        "no file of parameters is given for a scope",
        "The module keeps weights outside, under a scope, and nothing provides that scope.",
        "Give the file with its scope: `--parameters=SCOPE=FILE.irpa`, or"
        " `index.create_provider(scope=...)`. `fnabi inspect --needs FILE` lists both.",
        "no provider registered that handles scopes like '<scope>'",
    ),
    _failure(
        "parameter-key",
        "a parameter is not in its file",
        "A file of the scope was given, and lacks a weight of this name: it belongs to another"
        " version of the model, or the names were changed.",
        "`fnabi verify --against=FILE.irpa MODULE` compares all names and sizes.",
        "no parameter found in index with key '<key>'",
    ),
    _failure(
        "parameter-size",
        "a parameter is smaller than the module expects",
        "The file has a weight of this name with fewer bytes: another shape or another type.",
        "`fnabi verify --against=FILE.irpa MODULE` compares all names and sizes.",
        "parameter `<key>` range out of bounds (offset=<offset:n>, length=<wanted:n>,"
        " size=<has:n>)",
    ),
    # ------------------------------------------------------------------------ others
    _failure(
        "flag",
        "the program has no such flag",
        "A flag is misspelled, or of another release of the tool.",
        "`iree-run-module --help` lists the flags.",
        "flag '<flag>' not recognized",
    ),
    _failure(
        "assertion",
        "code of the module failed by itself",
        "The module checked something while it ran and gave up: what it was given does not fit, or"
        " the host lacks what it needs. The text is the module's own.",
        "Check the arguments against what the text states; the source has it as an assertion.",
        "<vm>:0: <status:w>; <text:l>",
    ),
)
