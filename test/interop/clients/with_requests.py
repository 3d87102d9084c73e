"""Fetches each URL with requests; one JSON line per URL."""
import hashlib
import json
import sys

import requests

session = requests.Session()
for url in sys.argv[1:]:
    reply = session.get(url)
    digest = hashlib.sha256(reply.content).hexdigest()
    print(json.dumps({"url": url, "status": reply.status_code, "sha256": digest}))
