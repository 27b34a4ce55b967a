"""change.py CHANGE: carries out the change of the JSON file CHANGE in the shop beside this file, where
an article is a product. Prints a line "OP ID PATH [NEW PATH]" for each."""

import json
import os
import sys

os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
import django

django.setup()
from django.contrib.sites.models import Site
from django.core.management import call_command
from oscar.apps.address.models import Country
from oscar.apps.catalogue.categories import create_from_breadcrumbs
from oscar.apps.catalogue.models import Product, ProductCategory, ProductClass
from oscar.apps.catalogue.reviews.models import ProductReview
from oscar.apps.partner.models import Partner, StockRecord

with open(sys.argv[1]) as f:
    change = json.load(f)
Site.objects.update(domain=os.environ["REALSITES_HOST"], name="The Almanac")
Country.objects.get_or_create(iso_3166_1_a2="GB", defaults={"printable_name": "United Kingdom", "is_shipping_country": True})
kind, _ = ProductClass.objects.get_or_create(name="Thing", track_stock=False)
partner, _ = Partner.objects.get_or_create(name="Almanac")


def product(id):
    return Product.objects.get(upc=f"{id:06d}")


def text(a):
    return "".join(f"<p>{p}</p>" for p in a["paragraphs"])


for a in change["publish"] or []:
    p = Product.objects.create(product_class=kind, title=a["title"], slug=a["slug"], upc=f"{a['id']:06d}", description=text(a))
    Product.objects.filter(pk=p.pk).update(date_created=a["date"])
    # Some stand in a category and in one of its parts.
    for name in [a["category"], f"{a['category']} > {a['tags'][0].capitalize()}"][: 1 + a["id"] % 2]:
        ProductCategory.objects.get_or_create(product=p, category=create_from_breadcrumbs(name))
    StockRecord.objects.create(product=p, partner=partner, partner_sku=p.upc, price=a["price"] / 100, price_currency="GBP")
    for c in a["comments"] or []:
        ProductReview.objects.create(product=p, score=4, title=c["text"].split()[0], body=c["text"], name=c["author"], email="reader@example.org", status=1)
    print("publish", a["id"], p.get_absolute_url())
for a in change["edit"] or []:
    p = product(a["id"])
    p.description = text(a)
    p.save()
    print("edit", a["id"], p.get_absolute_url())
for a in change["rename"] or []:
    p = product(a["id"])
    old = p.get_absolute_url()
    p.title, p.slug = a["title"], a["slug"]
    p.save()
    print("rename", a["id"], old, p.get_absolute_url())
for id in change["delete"] or []:
    p = product(id)
    print("delete", id, p.get_absolute_url())
    p.delete()
call_command("update_index", remove=True, verbosity=0)
