#!/bin/sh
# Sends one of each kind of request with curl to each base URL: curl.sh BASE…
set -eu
big=$(mktemp)
trap 'rm -f "$big"' EXIT
head -c 2000000 /dev/zero >"$big"
# Where HTTP/2 is offered curl takes it, and its names go in lower case.
ask() { curl --http1.1 --silent --show-error --output /dev/null "$@"; }
for base in "$@"; do
  ask "$base/get?q=a%20b&x=%2F"
  ask --head "$base/head"
  ask --compressed --header 'X-Empty;' --header 'x-lower: 1' --header 'Accept:' --cookie 'a=b; c="d"' "$base/compressed"
  ask --data 'a=1&b=2' "$base/form"
  ask --form 'a=1' --form 'f=@/dev/null' "$base/multipart"
  ask --upload-file "$big" "$base/upload"
  ask --upload-file "$big" --header 'Transfer-Encoding: chunked' --header 'Expect:' "$base/chunked"
  ask --http1.0 "$base/old"
  ask --request DELETE --user 'me:secret' --range 0-9 "$base/delete"
done
