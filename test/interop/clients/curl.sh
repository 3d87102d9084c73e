#!/bin/sh
# Fetches each URL with curl; one JSON line per URL.
set -eu
page=$(mktemp)
trap 'rm -f "$page"' EXIT
for url in "$@"; do
  status=$(curl --silent --show-error --location --compressed --output "$page" --write-out '%{http_code}' "$url")
  printf '{"url":"%s","status":%d,"sha256":"%s"}\n' "$url" "$status" "$(sha256sum <"$page" | cut -d ' ' -f 1)"
done
