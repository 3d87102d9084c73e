"""Sends requests with one of Python's clients: with_python.py CLIENT BASE…"""
import asyncio
import http.client
import os
import ssl
import sys
import urllib.parse
import urllib.request

CLIENT, BASES = sys.argv[1], sys.argv[2:]
PROXY = os.environ.get("PROXY")


def pieces():
    yield b"one"
    yield b"two"


def with_requests():
    import requests

    for base in BASES:
        requests.get(base + "/get", params={"q": "a b"}, headers={"X-Own": "1"})
        requests.post(base + "/form", data={"a": "1"}, cookies={"c": "d"})
        requests.post(base + "/json", json={"a": [1, 2]})
        # Before 2.29 it forgot the CONNECT in front of an upload of unknown length.
        if base.startswith("http:") or requests.__version__ >= "2.29":
            requests.put(base + "/chunked", data=pieces())
        requests.head(base + "/head")
        with requests.Session() as session:
            session.get(base + "/first")
            session.get(base + "/second")


def with_urllib():
    for base in BASES:
        urllib.request.urlopen(base + "/get?q=a+b").read()
        urllib.request.urlopen(base + "/form", data=b"a=1").read()
        asked = urllib.request.Request(base + "/put", data=b"x", method="PUT", headers={"X-own": "1"})
        urllib.request.urlopen(asked).read()


def with_http_client():
    for base in BASES:
        url = urllib.parse.urlsplit(base)
        far = (url.hostname, url.port)
        near = urllib.parse.urlsplit(PROXY) if PROXY else url
        prefix = ""
        if url.scheme == "https":
            connection = http.client.HTTPSConnection(near.hostname, near.port, context=ssl.create_default_context())
            if PROXY:
                connection.set_tunnel(*far)
        else:
            connection = http.client.HTTPConnection(near.hostname, near.port)
            prefix = base if PROXY else ""
        host = {"Host": url.netloc}
        for method, path, body, more in [
            ("GET", "/get", None, {}),
            ("POST", "/form", b"a=1", {"Content-Type": "text/plain"}),
            ("POST", "/chunked", pieces(), {"X-Own": "\u00e9"}),
            ("POST", "/empty", None, {}),
        ]:
            connection.request(method, prefix + path, body, {**host, **more})
            connection.getresponse().read()
        connection.close()


def with_httpx():
    import httpx

    for base in BASES:
        with httpx.Client(verify=ssl.create_default_context()) as client:
            client.get(base + "/get", params={"q": "a b"})
            client.post(base + "/form", data={"a": "1"})
            client.post(base + "/chunked", content=pieces())


def with_aiohttp():
    import aiohttp

    async def stream():
        for piece in pieces():
            yield piece

    async def main():
        async with aiohttp.ClientSession(trust_env=True) as session:
            for base in BASES:
                await (await session.get(base + "/get", params={"q": "a b"})).read()
                await (await session.post(base + "/form", data={"a": "1"})).read()
                await (await session.post(base + "/chunked", data=stream())).read()

    asyncio.run(main())


def with_scrapy():
    import scrapy
    from scrapy.crawler import CrawlerProcess

    class Spider(scrapy.Spider):
        name = "fidelity"

        def start_requests(self):
            for base in BASES:
                yield scrapy.Request(base + "/get?q=1", headers={"X-Own": "1"})
                yield scrapy.FormRequest(base + "/form", formdata={"a": "1"})

        def parse(self, response):
            pass

    settings = {"RETRY_ENABLED": False, "LOG_LEVEL": "WARNING", "TELNETCONSOLE_ENABLED": False}
    process = CrawlerProcess({**settings, "CONCURRENT_REQUESTS": 1})
    process.crawl(Spider)
    process.start()


globals()["with_" + CLIENT]()
