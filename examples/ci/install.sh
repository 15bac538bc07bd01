#!/usr/bin/env bash
# The first step of action.yml: installs fnabi from the action's own checkout, in an environment of
# its own, and puts its commands on the path of the steps after it. With -I Python imports nothing
# from the current folder, which is the repository with the modules.
set -euo pipefail

python=$(command -v python3 || command -v python)
folder=$RUNNER_TEMP/fnabi
"$python" -I -m venv "$folder"
commands=$folder/bin
[[ -d $commands ]] || commands=$folder/Scripts # on Windows
"$commands/python" -I -m pip install --quiet "$GITHUB_ACTION_PATH"
echo "$commands" >> "$GITHUB_PATH"
