#!/bin/sh
# Fetches each URL with wget; one JSON line per URL.
set -eu
page=$(mktemp)
heads=$(mktemp)
trap 'rm -f "$page" "$heads"' EXIT
for url in "$@"; do
  wget --quiet --server-response --tries=1 --compression=auto --output-document="$page" "$url" 2>"$heads" || cat "$heads" >&2
  status=$(sed -n 's|^ *HTTP/[0-9.]* \([0-9]*\).*|\1|p' "$heads" | tail -n 1)
  printf '{"url":"%s","status":%d,"sha256":"%s"}\n' "$url" "$status" "$(sha256sum <"$page" | cut -d ' ' -f 1)"
done
