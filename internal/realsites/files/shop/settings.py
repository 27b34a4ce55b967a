"""A shop of django-oscar as its documentation sets it up, with SQLite."""

import os

from oscar.defaults import *  # noqa: F403

BASE = os.path.dirname(os.path.abspath(__file__))
SECRET_KEY = "not secret"
DEBUG = False
ALLOWED_HOSTS = ["*"]
ROOT_URLCONF = "urls"
SITE_ID = 1
USE_TZ = True
TIME_ZONE = "UTC"
OSCAR_SHOP_NAME = "The Almanac"
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
STATIC_URL, STATIC_ROOT = "/static/", os.path.join(BASE, "static")
MEDIA_URL, MEDIA_ROOT = "/media/", os.path.join(BASE, "media")
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.path.join(BASE, "shop.db"),
        "ATOMIC_REQUESTS": True,
        # A product page reads, then writes who looked at it: two that begin by reading lock each other out.
        "OPTIONS": {"timeout": 60, "transaction_mode": "IMMEDIATE", "init_command": "PRAGMA journal_mode=WAL"},
    }
}
# Its lists of products come from a search engine. Whoosh needs no server; it knows no facets.
HAYSTACK_CONNECTIONS = {"default": {"ENGINE": "haystack.backends.whoosh_backend.WhooshEngine", "PATH": os.path.join(BASE, "index")}}
HAYSTACK_SIGNAL_PROCESSOR = "haystack.signals.BaseSignalProcessor"  # brought up to date by change.py, all at once
AUTHENTICATION_BACKENDS = ["oscar.apps.customer.auth_backends.EmailBackend", "django.contrib.auth.backends.ModelBackend"]

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.sites",
    "django.contrib.flatpages",
    "oscar.config.Shop",
    *(
        f"oscar.apps.{name}"
        for name in (
            "analytics.apps.AnalyticsConfig checkout.apps.CheckoutConfig address.apps.AddressConfig shipping.apps.ShippingConfig "
            "catalogue.apps.CatalogueConfig catalogue.reviews.apps.CatalogueReviewsConfig communication.apps.CommunicationConfig "
            "partner.apps.PartnerConfig basket.apps.BasketConfig payment.apps.PaymentConfig offer.apps.OfferConfig order.apps.OrderConfig "
            "customer.apps.CustomerConfig search.apps.SearchConfig voucher.apps.VoucherConfig wishlists.apps.WishlistsConfig "
            "dashboard.apps.DashboardConfig dashboard.reports.apps.ReportsDashboardConfig dashboard.users.apps.UsersDashboardConfig "
            "dashboard.orders.apps.OrdersDashboardConfig dashboard.catalogue.apps.CatalogueDashboardConfig "
            "dashboard.offers.apps.OffersDashboardConfig dashboard.partners.apps.PartnersDashboardConfig "
            "dashboard.pages.apps.PagesDashboardConfig dashboard.ranges.apps.RangesDashboardConfig "
            "dashboard.reviews.apps.ReviewsDashboardConfig dashboard.vouchers.apps.VouchersDashboardConfig "
            "dashboard.communications.apps.CommunicationsDashboardConfig dashboard.shipping.apps.ShippingDashboardConfig"
        ).split()
    ),
    "widget_tweaks",
    "haystack",
    "treebeard",
    "sorl.thumbnail",
    "django_tables2",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.contrib.flatpages.middleware.FlatpageFallbackMiddleware",
    "oscar.apps.basket.middleware.BasketMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.debug",
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "oscar.apps.search.context_processors.search_form",
                "oscar.apps.checkout.context_processors.checkout",
                "oscar.apps.communication.notifications.context_processors.notifications",
                "oscar.core.context_processors.metadata",
            ]
        },
    }
]
