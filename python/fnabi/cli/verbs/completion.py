"""``fnabi completion``: a script that completes commands in a shell.

The scripts know nothing of the verbs: at each TAB they run the command itself with the words of
the line, so that they complete what the installed release accepts. Names of files are the shell's.
"""

from __future__ import annotations

import argparse

from fnabi.cli._candidates import Answer, answer
from fnabi.cli._shell_line import Line

_BASH = r"""_fnabi() {
  local kind line program=$1
  [[ $program == "~/"* ]] && program=$HOME/${program:2}
  COMPREPLY=()
  {
    IFS= read -r kind
    while IFS= read -r line; do COMPREPLY+=("$line"); done
  } < <("$program" completion bash -- "$COMP_WORDBREAKS" "${COMP_LINE:0:COMP_POINT}" \
    "${COMP_LINE:COMP_POINT}" 2> /dev/null)
  if [[ $kind == words ]]; then
    compopt +o default 2> /dev/null
  elif [[ $kind == files@ && $2 == @* ]]; then  # where bash completes names of hosts
    compopt -o filenames 2> /dev/null
    while IFS= read -r line; do
      if [[ -d $line ]]; then line=$line/; compopt -o nospace 2> /dev/null; fi
      COMPREPLY+=("@$line")
    done < <(compgen -f -- "${2:1}")
  fi
}
complete -o default -F _fnabi fnabi
"""

_ZSH = r"""#compdef fnabi
_fnabi() {
  local kind prefix program=${(Q)words[1]}
  local -a found
  [[ $program == "~/"* ]] && program=$HOME/${program:2}
  found=("${(@f)$("$program" completion zsh -- $((CURRENT - 1)) "${(@Q)words[1,CURRENT-1]}" \
    "${(Q)PREFIX}" "${(@Q)words[CURRENT+1,-1]}" 2> /dev/null)}")
  kind=${found[1]%%$'\t'*}
  prefix=${found[1]#*$'\t'}
  shift found
  [[ -n $prefix ]] && compset -P "${(b)prefix}"
  if [[ $kind != words ]]; then
    _files
  elif (( $#found )); then
    _describe -V fnabi found
  fi
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _fnabi "$@"
else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }
  compdef _fnabi fnabi
fi
"""

_FISH = r"""function __fnabi
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -l found ($words[1] completion fish -- (count $words) $words "$current" 2> /dev/null)
  set -l head (string split \t -- "$found[1]")
  set -e found[1]
  if test "$head[1]" = words
    test (count $found) -gt 0; and printf '%s\n' $found
  else
    set -l length (string length -- "$head[2]")
    set -l path (string sub -s (math $length + 1) -- "$current")
    for file in (complete -C "__fish_command_without_completions $path")
      printf '%s\n' "$head[2]$file"
    end
  end
end
complete -c fnabi -f -a '(__fnabi)'
"""

_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("shell", metavar="SHELL", choices=[*_SCRIPTS], help=", ".join(_SCRIPTS))
    words = verb.add_argument(
        "words",
        metavar="WORD",
        nargs=argparse.REMAINDER,  # a second "--" is a word
        default=[],
        help="the command line, as the scripts give it: write what can be at the cursor",
    )
    words.required = False  # which argparse of Python 3.11 takes it for


def run(arguments: argparse.Namespace) -> int:
    words: list[str] = arguments.words
    if not words:
        print(_SCRIPTS[arguments.shell], end="")
    elif arguments.shell == "bash":
        if len(words) != 3:
            arguments.usage("bash gives its word breaks and the line before and after the cursor")
        line = Line(*words)
        _write(line.answer(answer(line.words, line.index)))
    elif not words[0].isascii() or not words[0].isdigit() or not 0 < int(words[0]) < len(words) - 1:
        arguments.usage("expected the index of a word, then the words of a command")
    else:
        index, words = int(words[0]), words[1:]
        found = answer(words, index)
        _write(_for_zsh(found) if arguments.shell == "zsh" else _for_fish(found))
    return 0


def _write(lines: list[str]) -> None:
    print("\n".join(lines))


def _head(found: Answer) -> str:
    return f"{'files' if found.files else 'words'}\t{found.prefix}"


def _for_zsh(found: Answer) -> list[str]:
    """Return the answer with "word:what it is" on each line, as _describe reads it."""
    lines = [_head(found)]
    for word, what in found.words:
        name = word.replace("\\", "\\\\").replace(":", "\\:")
        lines.append(f"{name}:{what}" if what else name)
    return lines


def _for_fish(found: Answer) -> list[str]:
    return [_head(found), *(f"{found.prefix}{word}\t{what}" for word, what in found.words)]
