#!/bin/sh
# GET and POST with wget to each base URL: wget.sh BASE…
set -eu
ask() { wget --quiet --ca-certificate="$SSL_CERT_FILE" --output-document=/dev/null "$@"; }
for base in "$@"; do
  ask "$base/get?q=a%20b"
  ask --compression=auto --header 'X-Own: 1' "$base/compressed"
  ask --post-data 'a=1' "$base/form"
done
