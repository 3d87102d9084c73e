#!/bin/sh
# One request of a tool that brings its own client: tools.sh git|pip|npm BASE…
# The site knows nothing of what is asked for, so that all of them fail; what counts is what they asked.
tool=$1
shift
for base in "$@"; do
  case $tool in
    git) git -c http.version=HTTP/1.1 ls-remote "$base/missing/repo.git" ;;
    pip) /usr/bin/python3 -m pip download --quiet --no-deps --retries 0 --disable-pip-version-check --dest "$HOME" --index-url "$base/missing/simple/" no-such-package ;;
    # Through a proxy it looks for `localhost` in the certificate of an address.
    npm) npm view no-such-package --registry "$base/missing/" --strict-ssl false --fetch-retries 0 --no-update-notifier ;;
  esac
done >/dev/null 2>&1
exit 0
