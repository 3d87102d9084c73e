"""Fetches each URL with urllib; one JSON line per URL."""
import gzip
import hashlib
import json
import sys
import urllib.request

for url in sys.argv[1:]:
    with urllib.request.urlopen(url) as reply:
        body = reply.read()
        if reply.headers["Content-Encoding"] == "gzip":
            body = gzip.decompress(body)
        digest = hashlib.sha256(body).hexdigest()
        print(json.dumps({"url": url, "status": reply.status, "sha256": digest}))
