#!/bin/sh
# Uploads a file to each URL, whole and in chunks, fetches the rest of a piece of it, and asks as HTTP/1.0 does.
# One JSON line per URL.
set -eu
file=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
alias curl='curl --silent --show-error --fail'
digest() { sha256sum | cut -d ' ' -f 1; }

for url in "$@"; do
  # The file is so long that curl waits for a 100 first.
  whole=$(curl --upload-file "$file" "$url")
  chunks=$(curl --upload-file - "$url" <"$file")
  head -c 1000000 "$file" >"$work/piece"
  curl --continue-at - --output "$work/piece" "$url"
  curl --http1.0 --raw --dump-header "$work/head" --output "$work/old" --suppress-connect-headers "$url/chunks"
  printf '{"url":"%s","whole":"%s","chunks":"%s","resumed":"%s","old":"%s","coding":"%s"}\n' \
    "$url" "$whole" "$chunks" "$(digest <"$work/piece")" "$(cat "$work/old")" \
    "$(sed -n 's/^transfer-encoding: *//Ip' "$work/head" | tr -d '\r')"
done
