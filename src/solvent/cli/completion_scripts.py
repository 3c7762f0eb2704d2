"""Scripts that complete words of `solvent` in a shell.

All words are written into the script, so that a shell need not start Python while somebody types; only for the names of
runs it asks `solvent completion --runs`.
"""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from solvent.cli.completing import ANY, FILE, FOLDER, RUN
from solvent.cli.main import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.cli.completing import Follows

_BASH = """\
# Completion of `solvent` for bash, made by `solvent completion bash`.

_solvent_add() {{
    local one
    while IFS= read -r one; do COMPREPLY+=("$one"); done
}}
_solvent_words() {{ _solvent_add < <(compgen -W "$1" -- "$cur"); }}
_solvent_files() {{ compopt -o filenames 2>/dev/null; _solvent_add < <(compgen -f -- "$cur"); }}
_solvent_folders() {{ compopt -o filenames 2>/dev/null; _solvent_add < <(compgen -d -- "$cur"); }}
_solvent_runs() {{
    local store=()
    if [[ $COMP_LINE =~ --store[=\\ ]+([^\\ ]+) ]]; then store=(--store "${{BASH_REMATCH[1]}}"); fi
    _solvent_words "$("${{COMP_WORDS[0]}}" completion --runs "${{store[@]}}" 2>/dev/null)"
}}
_solvent() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}" key="${{COMP_WORDS[1]}}"
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        _solvent_words {commands}
        return
    fi
    # Bash takes the `=` of `--format=json` for a word.
    if [[ $cur == = ]]; then cur=""; elif [[ $prev == = ]]; then prev="${{COMP_WORDS[COMP_CWORD-2]}}"; fi
    if ((COMP_CWORD > 2)); then
        case "$key ${{COMP_WORDS[2]}}" in
            {pairs}) key="$key ${{COMP_WORDS[2]}}" ;;
        esac
    fi
    case "$key:$prev" in
{values}
    esac
    if [[ $cur == -* ]]; then
        case "$key" in
{options}
        esac
        return
    fi
    case "$key" in
{words}
    esac
}}
complete -F _solvent solvent
"""
_ZSH = """\
#compdef solvent
# Completion of `solvent` for zsh, made by `solvent completion zsh`.

_solvent_words() {{ compadd -- ${{=1}} }}
_solvent_files() {{ _files }}
_solvent_folders() {{ _files -/ }}
_solvent_runs() {{
    local -a store
    local at=${{words[(I)--store]}}
    if (( at )); then store=(--store "${{(Q)words[at+1]}}"); fi
    compadd -- ${{(f)"$(${{(Q)words[1]}} completion --runs $store 2>/dev/null)"}}
}}
_solvent() {{
    local cur="${{words[CURRENT]}}" prev="${{words[CURRENT-1]}}" key="${{words[2]}}"
    if (( CURRENT == 2 )); then
        local -a commands
        commands=({described})
        _describe command commands
        return
    fi
    if [[ $cur == --*=* ]]; then
        prev="${{cur%%=*}}"
        compset -P '*='
        cur="${{cur#*=}}"
    fi
    if (( CURRENT > 3 )); then
        case "$key ${{words[3]}}" in
            {pairs}) key="$key ${{words[3]}}" ;;
        esac
    fi
    case "$key:$prev" in
{values}
    esac
    if [[ $cur == -* ]]; then
        case "$key" in
{options}
        esac
        return
    fi
    case "$key" in
{words}
    esac
}}
if [ "$funcstack[1]" = "_solvent" ]; then _solvent "$@"; else compdef _solvent solvent; fi
"""
_FISH = """\
# Completion of `solvent` for fish, made by `solvent completion fish`.

function __solvent_runs
    set -l words (commandline -opc)
    set -l store
    if set -l at (contains -i -- --store $words)
        and test (count $words) -gt $at
        set store --store $words[(math $at + 1)]
    end
    $words[1] completion --runs $store 2>/dev/null
end
function __solvent_key
    set -l words (commandline -opc)
    switch "$words[2] $words[3]"
        case {pairs}
            test "$words[2] $words[3]" = "$argv[1]"
        case '*'
            test "$words[2]" = "$argv[1]"
    end
end
complete -c solvent -f
"""
_CALLS = {FILE: "_solvent_files", FOLDER: "_solvent_folders", RUN: "_solvent_runs", ANY: ":"}


def bash(found: dict[str, Follows]) -> str:
    """Give the script for bash."""
    return _filled(_BASH, found, commands=quote(" ".join(COMMANDS)))


def zsh(found: dict[str, Follows]) -> str:
    """Give the script for zsh."""
    return _filled(_ZSH, found, described=" ".join(quote(f"{name}:{says}") for name, says in COMMANDS.items()))


def _filled(script: str, found: dict[str, Follows], **more: str) -> str:
    """Fill in what bash and zsh write alike."""
    patterns: dict[str, list[str]] = {}
    for key, follows in found.items():
        for name, value in follows.options.items():
            if value is not None:
                patterns.setdefault(_call(value), []).append(quote(f"{key}:{name}"))
    values = [f"        {'|'.join(some)}) {call}; return ;;" for call, some in patterns.items()]
    options = [f"            {quote(key)}) {_call(' '.join(one.options))} ;;" for key, one in found.items()]
    words = [f"        {quote(key)}) {_calls(one.words)} ;;" for key, one in found.items() if one.words]
    pairs = "|".join(quote(key) for key in found if " " in key)
    lines = {"values": "\n".join(values), "options": "\n".join(options), "words": "\n".join(words)}
    return script.format(pairs=pairs, **lines, **more)


def _call(value: str) -> str:
    return _CALLS.get(value) or f"_solvent_words {quote(value)}"


def _calls(words: list[str]) -> str:
    fixed = " ".join(one for one in words if one not in _CALLS)
    return "; ".join([*([_call(fixed)] if fixed else []), *(_CALLS[one] for one in words if one in _CALLS)])


def fish(found: dict[str, Follows]) -> str:
    """Give the script for fish."""
    lines = [_FISH.format(pairs=" ".join(quote(key) for key in found if " " in key)).rstrip()]
    for name, says in COMMANDS.items():
        lines.append(f"complete -c solvent -n '__solvent_key \"\"' -a {name} -d {_in_fish(says)}")
    for key, follows in found.items():
        start = f"complete -c solvent -n {_in_fish(f'__solvent_key {quote(key)}')}"
        for name, value in follows.options.items():
            kind = f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
            taken = "" if value is None else f" {_in_fish_value(value, needs='-x ')}"
            lines.append(f"{start} {kind}{taken} -d {_in_fish(follows.says[name])}")
        lines += [f"{start} {_in_fish_value(word)}" for word in follows.words]
    return "\n".join(lines) + "\n"


def _in_fish_value(value: str, *, needs: str = "") -> str:
    if value == FILE:
        return "-r -F" if needs else "-F"
    if value == ANY:
        return needs.strip()
    known = {RUN: "(__solvent_runs)", FOLDER: "(__fish_complete_directories)"}
    return f"{needs}-a {_in_fish(known.get(value, value))}"


def _in_fish(text: str) -> str:
    """Quote for fish, in which a backslash before a quote stands for the quote."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


SCRIPTS: dict[str, Callable[[dict[str, Follows]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}

__all__ = ["SCRIPTS"]
