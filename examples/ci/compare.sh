#!/usr/bin/env bash
# The step of action.yml: compares OLD with NEW, annotates the changes, and writes a summary.
set -uo pipefail

verb=diff
[[ $OLD == *.json ]] && verb=check-abi
command=(fnabi "$verb")
[[ -n ${RUNTIME:-} ]] && command+=(--runtime="$RUNTIME")
[[ -n ${DRIVER:-} ]] && command+=(--driver="$DRIVER")
[[ -n ${ARCH:-} ]] && command+=(--arch="$ARCH")

compare() {
  "${command[@]}" --style="$1" -- "$OLD" "$NEW"
}

compare github
status=$?
compare markdown >> "${GITHUB_STEP_SUMMARY:-/dev/null}"
case $status in
  0) verdict=compatible ;;
  1) verdict=incompatible ;;
  4) verdict=unknown ;;
  *) verdict=unreadable ;;
esac
echo "verdict=$verdict" >> "${GITHUB_OUTPUT:-/dev/null}"
if [[ $verdict == unknown && ${UNKNOWN:-true} != true ]]; then
  exit 0
fi
exit $status
