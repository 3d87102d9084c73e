"""Fetches all URLs at once with Scrapy; one JSON line per URL."""
import hashlib
import json
import sys

import scrapy
from scrapy.crawler import CrawlerProcess


class PagesSpider(scrapy.Spider):
    name = "pages"
    start_urls = sys.argv[1:]

    def start_requests(self):
        for url in self.start_urls:
            yield scrapy.Request(url, cb_kwargs={"asked": url})

    def parse(self, response, asked):
        digest = hashlib.sha256(response.body).hexdigest()
        print(json.dumps({"url": asked, "status": response.status, "sha256": digest}))


process = CrawlerProcess({"RETRY_ENABLED": False, "LOG_LEVEL": "WARNING", "TELNETCONSOLE_ENABLED": False})
process.crawl(PagesSpider)
process.start()
