"""Fetches each URL with urllib and the strict checks that are Python's default since 3.13."""
import gzip
import hashlib
import json
import os
import ssl
import sys
import urllib.request

context = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
context.verify_flags |= ssl.VERIFY_X509_STRICT
opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=context))
for url in sys.argv[1:]:
    with opener.open(url) as reply:
        body = reply.read()
        if reply.headers["Content-Encoding"] == "gzip":
            body = gzip.decompress(body)
        digest = hashlib.sha256(body).hexdigest()
        print(json.dumps({"url": url, "status": reply.status, "sha256": digest}))
