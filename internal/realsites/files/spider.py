"""A spider as the documentation of Scrapy writes them: all links of a site, each once."""

from urllib.parse import urlsplit

from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule


class Everything(CrawlSpider):
    name = "everything"
    rules = [Rule(LinkExtractor(), callback="keep", follow=True)]
    custom_settings = {"ROBOTSTXT_OBEY": True, "TELNETCONSOLE_ENABLED": False, "LOG_LEVEL": "ERROR"}

    def __init__(self, seed, limit, **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [seed]
        self.allowed_domains = [urlsplit(seed).hostname]

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        crawler.settings.set("CLOSESPIDER_PAGECOUNT", int(kwargs["limit"]), priority="spider")
        return super().from_crawler(crawler, *args, **kwargs)

    def keep(self, response):
        return {"url": response.url}
