"""Fetches each URL with httpx; one JSON line per URL."""
import hashlib
import json
import sys

import httpx

with httpx.Client(follow_redirects=True, timeout=60) as client:
    for url in sys.argv[1:]:
        reply = client.get(url)
        digest = hashlib.sha256(reply.content).hexdigest()
        print(json.dumps({"url": url, "status": reply.status_code, "sha256": digest}))
